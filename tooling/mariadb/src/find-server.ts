import { spawnSync } from 'node:child_process'
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { FoundServer } from '../index.d.ts'

const NAMES = ['mariadbd', 'mysqld']

/** Folders searched beside PATH; servers are often in folders that only root has on PATH. */
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
  'It need not run: only the program is used. Or name one that you have, MariaDB or MySQL: LOOSELEAF_MYSQLD=/path/to/mysqld.',
].join('\n')

export function findServer(): FoundServer | undefined {
  const named = process.env['LOOSELEAF_MYSQLD'] ?? ''
  if (named !== '') return serverNamed(named)
  for (const path of findPrograms(NAMES)) {
    const found = ask(path)
    if ('version' in found) return found
  }
  return undefined
}

/** Throws instead of falling back: another server would test something else. */
function serverNamed(path: string): FoundServer {
  const found = ask(path)
  if ('version' in found) return found
  throw new Error(`LOOSELEAF_MYSQLD=${path} cannot run as a server: ${found.why}`)
}

function ask(path: string): FoundServer | { readonly why: string } {
  const { status, signal, stdout, stderr, error } = spawnSync(path, ['--no-defaults', '--version'], {
    encoding: 'utf8',
  })
  if (error !== undefined) return { why: error.message }
  if (status !== 0)
    return { why: `--version ended with ${status ?? signal}. ${stderr.trim().slice(0, 1_000)}`.trim() }
  // Searches after `Ver`, because the line begins with the path.
  const version = /\bVer (\S+)/.exec(stdout)?.[1]
  if (version === undefined) return { why: '--version says no version.' }
  return { path, flavor: /mariadb/i.test(version) ? 'mariadb' : 'mysql', version: stdout.trim() }
}

/**
 * Returns the script that fills a new data folder of MariaDB. It comes with the server, in a folder that
 * depends on the system. A named server needs a script near it, because another server's script would create
 * tables of its own version.
 */
export function findInstallScript(server: FoundServer): string | undefined {
  const near = [...new Set([server.path, realpathSync(server.path)])].flatMap((path) => {
    const folder = dirname(path)
    return [folder, join(folder, '..', 'bin'), join(folder, '..', 'scripts')]
  })
  const named = (process.env['LOOSELEAF_MYSQLD'] ?? '') !== ''
  return findPrograms(
    ['mariadb-install-db', 'mysql_install_db'],
    named ? near : [...near, ...usualFolders()],
  )[0]
}

function findPrograms(names: readonly string[], folders: readonly string[] = usualFolders()): string[] {
  const paths = folders.flatMap((folder) => names.map((name) => join(folder, name)))
  // Sorted by name first: if both are installed, or one links to the other, mariadbd is preferred.
  const found = [...new Set(paths)].filter(isProgram)
  return names.flatMap((name) => found.filter((path) => path.endsWith(`/${name}`)))
}

function usualFolders(): string[] {
  const onPath = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '')
  return [...onPath, ...FOLDERS]
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
}
