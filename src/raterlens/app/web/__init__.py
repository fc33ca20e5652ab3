"""The web app: `raterlens serve`. A light server that imports nothing numerical; workers do the work."""
