"""Domains of dialogues by name. Adding one is a file here and a line in this dict."""

from collections.abc import Mapping

from hone.environments.dialogues.orders import Orders
from hone.environments.dialogues.sales import Sales
from hone.environments.dialogues.scenario import DialogueDomain
from hone.environments.dialogues.talk import Talk

DOMAINS: Mapping[str, DialogueDomain] = {"orders": Orders(), "sales": Sales(), "talk": Talk()}
