import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { FoundServer } from '../index.d.ts'
import { findInstallScript, howToInstall } from './find-server.ts'

const run = promisify(execFile)

const TEMPLATES = fileURLToPath(
  new URL('../../../node_modules/.cache/looseleaf-data-folders', import.meta.url),
)

/** Fills empty or missing folders with the system tables of a new server; leaves the others as they are. */
export async function prepareDataFolders(server: FoundServer, folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    if ((await readdir(folder)).length > 0) continue
    await cp(await templateOf(server), folder, { recursive: true })
  }
}

/**
 * Returns a data folder for copies, made once for each version of a server, because a copy takes a twentieth of
 * the time. It contains no password: a server sets its own at each start.
 */
async function templateOf(server: FoundServer): Promise<string> {
  const program = await stat(server.path)
  const identity = [...Object.values(server), program.size, program.mtimeMs, argumentsOf(server, '')]
  const folder = join(TEMPLATES, createHash('sha256').update(identity.join('\n')).digest('hex').slice(0, 24))
  if (!existsSync(folder)) await makeTemplate(server, folder)
  return folder
}

/** Several processes may make the same template; the first one stays. */
async function makeTemplate(server: FoundServer, folder: string): Promise<void> {
  await mkdir(TEMPLATES, { recursive: true })
  const own = await mkdtemp(join(TEMPLATES, 'new-'))
  try {
    const made = join(own, 'data')
    await fillDataFolder(server, made)
    // MySQL's unique server id; each copy creates its own at its first start.
    await rm(join(made, 'auto.cnf'), { force: true })
    await rename(made, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    await rm(own, { recursive: true, force: true })
  }
}

async function fillDataFolder(server: FoundServer, folder: string): Promise<void> {
  try {
    await run(programOf(server), argumentsOf(server, folder))
  } catch (error) {
    throw new Error(`The data folder of a new ${server.flavor} server could not be created.`, {
      cause: error,
    })
  }
}

/** Returns the program that fills a data folder. Throws if this machine does not have it. */
function programOf(server: FoundServer): string {
  if (server.flavor === 'mysql') return server.path
  const script = findInstallScript(server)
  if (script !== undefined) return script
  throw new Error(`mariadb-install-db was not found beside ${server.path}.\n${howToInstall}`)
}

function argumentsOf(server: FoundServer, folder: string): string[] {
  return [
    '--no-defaults',
    ...(runsAsRoot() ? ['--user=root'] : []),
    `--datadir=${folder}`,
    ...(server.flavor === 'mysql'
      ? ['--initialize-insecure', '--innodb-use-native-aio=0']
      : [
          '--auth-root-authentication-method=normal',
          '--skip-test-db',
          '--skip-name-resolve',
          '--innodb-log-file-size=8M',
        ]),
  ]
}

export function runsAsRoot(): boolean {
  return process.getuid?.() === 0
}
