# SPDX-License-Identifier: Apache-2.0
"""Public repositories that tests use and that are never committed: a work tree or a bare clone beside the
checkout, as ../NAME or ../.mirror/OWNER+NAME/repo."""
import os
import shutil
import subprocess

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
