"""A package as one file: a ZIP archive of its files. Equal packages are equal archives."""

import io
import zipfile
from collections.abc import Mapping

from hone.environments.packages import reading
from hone.environments.packages.package import FILES, MOST_BYTES, Package, WrongPackage

_EPOCH = (1980, 1, 1, 0, 0, 0)


def packed(files: Mapping[str, bytes]) -> bytes:
    """Return the files of a package as an archive."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in FILES:
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), files[name], zipfile.ZIP_DEFLATED)
    return sink.getvalue()


def unpacked(data: bytes, *, trusted: bool = False) -> Package:
    """Return the package of an archive; a `trusted` one is kept, and was looked at when it came.

    Raises WrongPackage, also for one that holds more than a package may.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            names = [info.filename for info in infos]
            if sorted(names) != sorted(FILES):
                raise WrongPackage("archive", names, f"{', '.join(FILES)}, each once")
            if (size := sum(info.file_size for info in infos)) > MOST_BYTES:
                raise WrongPackage("archive", f"{size} bytes", f"at most {MOST_BYTES}, unpacked")
            return reading.read({info.filename: _content(archive, info) for info in infos}, trusted=trusted)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise WrongPackage("archive", data[:20], f"a ZIP archive of {', '.join(FILES)} ({error})") from error


def _content(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return a file's content. No more is unpacked than the archive says it holds."""
    with archive.open(info) as file:
        return file.read(info.file_size + 1)[:info.file_size]
