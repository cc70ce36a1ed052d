"""Importers of model files and of other libraries' graphs, one package a format."""
