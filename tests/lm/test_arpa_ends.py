"""An ARPA file without </s> is refused: no sentence would have an end."""

import pytest

from luthier.core.errors import InputError
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.storage import open_lm

TEXT = "\\data\\\nngram 1=3\n\n\\1-grams:\n-1 <unk>\n-99 <s>\n-0.5 {}\n\n\\end\\\n"


@pytest.mark.parametrize("read", [read_arpa, open_lm])
def test_a_model_without_ends_is_refused(tmp_path, read):
    (tmp_path / "lm").write_text(TEXT.format("a"))
    for _ in range(2):  # nothing is kept of the first time
        with pytest.raises(InputError, match="lm: expected </s> among the 1-grams, found none: no sentence would have"):
            read(tmp_path / "lm")
    (tmp_path / "lm").write_text(TEXT.format("</s>"))
    read(tmp_path / "lm")
