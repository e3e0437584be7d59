"""The part of the SDK's client that keeps knowledge of environments under names."""

from hone.client.knowledge_resources import Knowledge, KnownText
from hone.client.nouns import Deleting, Listing
from hone.client.requests import Requests
from hone.client.resources import Page
from hone.client.transport import rest_path


class KnowledgeStore(Requests):
    """Methods of stored knowledge, with which harnesses of other runs begin."""

    def save_knowledge(self, name: str, run_id: str) -> Knowledge:
        """Store what a run has learned of its environment as the name's next version. Raises Refused."""
        return self._send(Knowledge, "PUT", rest_path("knowledge", name), json={"run_id": run_id})

    stored_knowledge = Listing(Page[Knowledge], "knowledge")
    """List names with the newest version of each."""

    def knowledge(self, name: str, version: int | None = None) -> Knowledge:
        """Return a version of a name."""
        return self._get(Knowledge, rest_path("knowledge", name), version=version)

    def knowledge_items(
        self, name: str, version: int | None = None, limit: int = 200, after: str | None = None,
    ) -> Page[KnownText]:
        """List the texts of a version in the order in which they were learned."""
        return self._get(Page[KnownText], rest_path("knowledge", name, "items"), version=version, limit=limit,
                         after=after)

    delete_knowledge = Deleting(Knowledge, "knowledge")
    """Delete a name with all its versions. Runs that began with it keep theirs. Returns what it was."""
