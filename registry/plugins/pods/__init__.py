"""Pods of tasks and hooks with their boot sequence, as plain data, YAML and arguments of Airflow. Pure.

An init container writes the job's files, environment and secrets to a shared volume. The executor's command
loads them and runs the plugin's script. `postStart` cannot do that: it is another process, with no order
between it and the container's own command.
"""
