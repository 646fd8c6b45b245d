# SPDX-License-Identifier: Apache-2.0
"""pymongo's own tests, of the source package of one release."""
import pytest_runs

# The driver's two packages: with threads and with asyncio.
PACKAGES = {'pymongo': 'default', 'pymongo-async': 'default_async'}
QUIET = ['-W', 'default::pytest.PytestUnraisableExceptionWarning', '-W', 'default::pytest.PytestUnhandledThreadExceptionWarning']


def run(work, configuration, driver, package, only, jobs, tests=None):
    """{test: [outcome, detail, seconds]}"""
    return pytest_runs.run(work, configuration, driver, ['-o', 'addopts=', '-m', PACKAGES[package]] + QUIET + ['test'], only, jobs,
                           tests)
