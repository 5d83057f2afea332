import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { FoundServer } from '../index.d.ts'
import { findInstallScript, howToInstall } from './find-server.ts'

const run = promisify(execFile)

/** Fills empty or missing folders with the system tables of a new server; leaves the others as they are. */
export async function prepareDataFolders(
  server: FoundServer,
  folders: readonly string[],
  temporary: string,
): Promise<void> {
  const empty: string[] = []
  for (const folder of folders) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if ((await readdir(folder)).length === 0) empty.push(folder)
  }
  const [first, ...others] = empty
  if (first === undefined) return
  // Made once and copied, which is several times faster than making each.
  const template = join(temporary, 'template')
  await fillDataFolder(server, template)
  // MySQL's unique server id; each copy creates its own at its first start.
  await rm(join(template, 'auto.cnf'), { force: true })
  for (const folder of others) await cp(template, folder, { recursive: true })
  try {
    await rename(template, first)
  } catch {
    // The folder is on another file system.
    await cp(template, first, { recursive: true })
  }
}

async function fillDataFolder(server: FoundServer, folder: string): Promise<void> {
  const asRoot = runsAsRoot() ? ['--user=root'] : []
  try {
    if (server.flavor === 'mysql') {
      await run(server.path, [
        '--no-defaults',
        ...asRoot,
        '--initialize-insecure',
        '--innodb-use-native-aio=0',
        `--datadir=${folder}`,
      ])
    } else {
      const script = findInstallScript(server)
      if (script === undefined) {
        throw new Error(`mariadb-install-db was not found beside ${server.path}.\n${howToInstall}`)
      }
      await run(script, [
        '--no-defaults',
        ...asRoot,
        `--datadir=${folder}`,
        '--auth-root-authentication-method=normal',
        '--skip-test-db',
        '--skip-name-resolve',
        '--innodb-log-file-size=8M',
      ])
    }
  } catch (error) {
    throw new Error(`The data folder of a new ${server.flavor} server could not be created.`, {
      cause: error,
    })
  }
}

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0
}
