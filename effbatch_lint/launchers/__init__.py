"""Launch lines and manifests -> :class:`~effbatch_lint.launch.Launch`: who is started, on how many devices.

``script.launches`` reads a launch script, ``manifest.launches`` a manifest; every launcher is a file of its own.
"""
