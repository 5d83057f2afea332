import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findServer } from '@looseleaf-tooling/mariadb'
import { Skip } from '../matrix/scenario.ts'

const run = promisify(execFile)

/** Has the redo log of a server hang, as on a disk that does not answer for a while. */
export interface LogHang {
  /** What the server has to be started with. */
  readonly environment: NodeJS.ProcessEnv
  begin(): Promise<void>
  end(): Promise<void>
  /** Calls of servers that have been made to wait so far. */
  hung(): Promise<number>
  remove(): Promise<void>
}

/** Why the redo log of a server cannot be made to hang on this machine; undefined where it can. */
export function whyNoLogHang(): string | undefined {
  if (findServer()?.flavor !== 'mariadb') return 'needs MariaDB, whose redo log is made to hang'
  if (spawnSync('gcc', ['--version']).error !== undefined)
    return 'needs gcc, to build a library that makes the redo log hang'
  return undefined
}

/** Builds the library that is preloaded. Throws `Skip` where that cannot be done. */
export async function buildLogHang(): Promise<LogHang> {
  const why = whyNoLogHang()
  if (why !== undefined) throw new Skip(why)
  const folder = await mkdtemp(join(tmpdir(), 'looseleaf-hang-'))
  const library = join(folder, 'hang-log.so')
  const control = join(folder, 'hang')
  try {
    const source = fileURLToPath(new URL('./hang-log.c', import.meta.url))
    await run('gcc', ['-shared', '-fPIC', '-O2', '-o', library, source])
  } catch (error) {
    await rm(folder, { recursive: true })
    throw error
  }
  return {
    environment: { LD_PRELOAD: library, LOOSELEAF_HANG_LOG: control },
    begin: () => writeFile(control, ''),
    end: () => rm(control, { force: true }),
    hung: async () => (await stat(`${control}.hung`).catch(() => undefined))?.size ?? 0,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
