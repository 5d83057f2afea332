import { accessSync, constants } from 'node:fs'
import { findServer } from '@looseleaf-tooling/mariadb'

/** Programs and libraries of a node. */
export interface FoundGalera {
  /** Path of `mariadbd`. */
  readonly server: string
  readonly version: string
  /** Path of `libgalera_smm.so`. */
  readonly provider: string
}

const PROVIDERS = [
  '/usr/lib/galera/libgalera_smm.so',
  '/usr/lib64/galera-4/libgalera_smm.so',
  '/usr/lib64/galera/libgalera_smm.so',
  '/usr/lib/libgalera_smm.so',
]

export const howToInstallGalera: string = [
  'A Galera cluster needs MariaDB 10.11, its replication library and rsync, and something of these is missing. Install them:',
  '  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y mariadb-server galera-4 rsync',
  '  Fedora:          sudo dnf install -y mariadb-server-galera galera rsync',
  'Only the programs are used, no service. LOOSELEAF_GALERA=/path/to/libgalera_smm.so names a library elsewhere.',
].join('\n')

/** Returns undefined if the server, the library or rsync is missing, or if the server is MySQL. */
export function findGalera(): FoundGalera | undefined {
  const named = process.env['LOOSELEAF_GALERA']
  const candidates = named === undefined || named === '' ? PROVIDERS : [named]
  const provider = candidates.find((path) => has(path, constants.R_OK))
  const server = findServer()
  const folders = (process.env['PATH'] ?? '').split(':').filter((folder) => folder !== '')
  const rsync = folders.some((folder) => has(`${folder}/rsync`, constants.X_OK))
  if (provider === undefined || server?.flavor !== 'mariadb' || !rsync) return undefined
  return { server: server.path, version: server.version, provider }
}

function has(path: string, mode: number): boolean {
  try {
    accessSync(path, mode)
    return true
  } catch {
    return false
  }
}
