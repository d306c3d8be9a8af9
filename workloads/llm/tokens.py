"""A tokenizer that needs no vocabulary: a word is a token. The text of token 123 is " t123", and is read as 123 again."""

import re
import zlib

# The lowest ids are special tokens of real vocabularies.
FIRST_WORD = 1000


def to_ids(text, vocabulary):
    return [word_id(word, vocabulary) for word in text.split()]


def word_id(word, vocabulary):
    own = re.fullmatch(r"t(\d{1,9})", word)
    if own and int(own[1]) < vocabulary:
        return int(own[1])
    return FIRST_WORD + zlib.crc32(word.encode()) % (vocabulary - FIRST_WORD)


def to_text(ids):
    return "".join(f" t{i}" for i in ids)
