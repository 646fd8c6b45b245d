# SPDX-License-Identifier: Apache-2.0
"""Public sources that tests use and that are never committed. A repository is a work tree or a bare clone beside the
checkout, as ../NAME or ../.mirror/OWNER+NAME/repo; a package is fetched from its registry."""
import os
import shutil
import subprocess

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORK = os.path.join(ROOT, 'build', 'clones')


def find(repository, given=None):
    owner, name = repository.split('/')
    beside = os.path.dirname(ROOT)
    for path in [given] if given else [os.path.join(beside, name), os.path.join(beside, '.mirror', owner + '+' + name, 'repo')]:
        if os.path.isdir(path):
            return path
    return None


def work_tree(repository, given=None):
    """A folder with the files of the newest commit; None when there is no clone."""
    clone = find(repository, given)
    if clone is None or not os.path.exists(os.path.join(clone, 'HEAD')):
        return clone
    folder = os.path.join(WORK, repository.split('/')[1])
    commit = subprocess.check_output(['git', '-C', clone, 'rev-parse', 'HEAD'], text=True).strip()
    stamp = os.path.join(folder, 'commit-' + commit)
    if not os.path.exists(stamp):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        with subprocess.Popen(['git', '-C', clone, 'archive', 'HEAD'], stdout=subprocess.PIPE) as archive:
            subprocess.run(['tar', '-x', '-C', folder], stdin=archive.stdout, check=True)
        if archive.returncode != 0:
            raise RuntimeError('cannot read ' + clone)
        open(stamp, 'w', encoding='utf-8').close()
    return folder


def python_package(name, version):
    """A folder with the files of a package's source release, fetched once from the Python package registry."""
    folder = os.path.join(WORK, '%s-%s' % (name, version))
    with harness.alone('python-package-' + name):
        if not os.path.exists(os.path.join(folder, 'PKG-INFO')):
            os.makedirs(WORK, exist_ok=True)
            harness.import_pymongo()
            python = os.path.join(ROOT, 'build', 'venv', 'bin', 'python3')
            subprocess.run([python, '-m', 'pip', 'download', '-q', '--no-deps', '--no-binary', ':all:', '-d', WORK,
                            '%s==%s' % (name, version)], check=True)
            subprocess.run(['tar', '-xzf', '%s.tar.gz' % folder, '-C', WORK], check=True)
    return folder
