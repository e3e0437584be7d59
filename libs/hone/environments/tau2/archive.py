"""Domains as directories, and as one ZIP archive: the files of a domain, and what was found of it."""

import io
import json
import re
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path

from hone.environments.packages.package import WrongPackage
from hone.environments.tau2.domain import CODE, DATA, MOST_BYTES, MOST_FILES, Findings, Proof, ServiceDomain, read

FINDINGS = "findings.json"
_EPOCH = (1980, 1, 1, 0, 0, 0)
_IMPORTS = re.compile(rb"\btau2\.domains\.(\w+)")
_READ = {".json", ".toml", ".yaml", ".yml", ".md", ".txt"}
_UNUSED = re.compile(r"(tasks|split_tasks)_.+\.json")
"""Further sets of tasks, which lie beside the one that counts."""


def collected(directory: Path, code: Path | None = None) -> dict[str, bytes]:
    """Return the files of a domain in a directory, and of its code where that is elsewhere, by their paths.

    A domain whose code never names itself has the name of its directory. Raises WrongPackage.
    """
    sources = _contents(code or directory, {".py"})
    named = {name.decode() for source in sources.values() for name in _IMPORTS.findall(source)}
    if len(named) > 1:
        raise WrongPackage("code", sorted(named), "imports of a single domain below tau2.domains")
    name = named.pop() if named else re.sub(r"\W", "_", directory.resolve().name)
    data = {path: content for path, content in _contents(directory, _READ).items()
            if not _UNUSED.fullmatch(path.name)}
    return {**{f"{DATA}/{name}/{path.as_posix()}": content for path, content in data.items()},
            **{f"{CODE}/{name}/{path.as_posix()}": content for path, content in sources.items()}}


def _contents(directory: Path, endings: Collection[str]) -> dict[Path, bytes]:
    """Return the files with such endings by their paths in a directory. Raises WrongPackage."""
    found = dict[Path, bytes]()
    for path in sorted(directory.rglob("*")):
        if path.suffix in endings and not path.is_dir():
            try:
                path.name.encode()
                found[path.relative_to(directory)] = path.read_bytes()
            except (OSError, UnicodeEncodeError) as error:
                raise WrongPackage("files", ascii(path.name)[1:-1], f"a file that can be read ({error})") from error
    return found


def packed(files: Mapping[str, bytes], findings: Findings | None = None) -> bytes:
    """Return the files of a domain as an archive. Equal domains are equal archives."""
    beside = {} if findings is None else {FINDINGS: json.dumps(asdict(findings), sort_keys=True).encode()}
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in sorted({**files, **beside}.items()):
            archive.writestr(zipfile.ZipInfo(path, _EPOCH), content, zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def holds_domain(data: bytes) -> bool:
    """Return whether an archive has files at the paths of a domain."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return any(name.startswith((f"{DATA}/", f"{CODE}/")) for name in archive.namelist())
    except zipfile.BadZipFile:
        return False


def unpacked(data: bytes, trusted: bool = False) -> ServiceDomain:
    """Return the domain of an archive; its findings are read of a `trusted` one, which this system packed, alone.

    Raises WrongPackage, also for one that holds more than a domain may.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = [info for info in archive.infolist() if not info.is_dir()]
            names = [info.filename for info in infos]
            size = sum(info.file_size for info in infos)
            if len(set(names)) < len(names) or len(names) > MOST_FILES + 1 or size > 2 * MOST_BYTES:
                raise WrongPackage("archive", f"{len(names)} files of {size} bytes", f"at most {MOST_FILES}, each "
                                   f"once, of {MOST_BYTES} bytes, unpacked")
            files = {info.filename: _content(archive, info) for info in infos}
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise WrongPackage("archive", data[:20], f"a ZIP archive of a domain ({error})") from error
    beside = files.pop(FINDINGS, None)
    found = read(files)
    return found if beside is None or not trusted else found.with_findings(_findings(beside))


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a file's content. No more is unpacked than the archive says it holds."""
    with archive.open(info) as file:
        return file.read(info.file_size + 1)[:info.file_size]


def _findings(data: bytes) -> Findings:
    given = json.loads(data)
    return Findings(**{**given, "proofs": {name: Proof(**one) for name, one in given["proofs"].items()}})
