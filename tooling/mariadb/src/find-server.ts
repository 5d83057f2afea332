import { spawnSync } from 'node:child_process'
import { accessSync, constants, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FoundServer } from '../index.d.ts'

const NAMES = ['mariadbd', 'mysqld']

/** Besides PATH: servers are often in a folder that only root has there. */
const FOLDERS = [
  '/usr/sbin',
  '/usr/bin',
  '/usr/libexec',
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/local/mariadb/bin',
  '/usr/local/mysql/bin',
  '/opt/homebrew/bin',
  '/opt/homebrew/opt/mariadb/bin',
  '/usr/local/opt/mariadb/bin',
  '/opt/homebrew/opt/mysql/bin',
  '/usr/local/opt/mysql/bin',
  '/home/linuxbrew/.linuxbrew/bin',
]

export const howToInstall: string = [
  'No MariaDB or MySQL server was found on PATH or in the usual folders. Install one:',
  '  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y mariadb-server',
  '  Fedora:          sudo dnf install -y mariadb-server',
  '  Arch:            sudo pacman -S mariadb',
  '  Alpine:          sudo apk add mariadb mariadb-client',
  '  macOS:           brew install mariadb',
  'It need not run: only the program is used. Or name one that you have with LOOSELEAF_MARIADBD=/path/to/mariadbd.',
].join('\n')

export function findServer(): FoundServer | undefined {
  const named = process.env['LOOSELEAF_MARIADBD']
  const candidates = named === undefined || named === '' ? findPrograms(NAMES) : [named]
  for (const path of candidates) {
    const { status, stdout } = spawnSync(path, ['--no-defaults', '--version'], { encoding: 'utf8' })
    if (status !== 0) continue
    return { path, flavor: /mariadb/i.test(stdout) ? 'mariadb' : 'mysql', version: stdout.trim() }
  }
  return undefined
}

/** The script that fills a new data folder of MariaDB; it comes with the server, in a folder that depends on the system. */
export function findInstallScript(server: FoundServer): string | undefined {
  const base = dirname(dirname(server.path))
  const near = [dirname(server.path), join(base, 'bin'), join(base, 'scripts')]
  return findPrograms(['mariadb-install-db', 'mysql_install_db'], near)[0]
}

function findPrograms(names: readonly string[], first: readonly string[] = []): string[] {
  const onPath = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '')
  const paths = [...first, ...onPath, ...FOLDERS].flatMap((folder) => names.map((name) => join(folder, name)))
  // By name first: where both are installed, or one is a link to the other, mariadbd is meant.
  const found = [...new Set(paths)].filter(isProgram)
  return names.flatMap((name) => found.filter((path) => path.endsWith(`/${name}`)))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
