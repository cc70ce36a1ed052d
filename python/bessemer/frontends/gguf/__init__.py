"""GGUF model files: metadata and memory-mapped tensors."""

from bessemer.frontends.gguf.reader import GgufFile, Metadata, MetadataValue, TensorInfo

__all__ = ["GgufFile", "Metadata", "MetadataValue", "TensorInfo"]
