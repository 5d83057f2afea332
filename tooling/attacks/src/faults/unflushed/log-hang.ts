import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findServer } from '@looseleaf-tooling/mariadb'
import type { OwnOptions } from '../../lab/server.ts'
import { Skip } from '../matrix/scenario.ts'

const run = promisify(execFile)

/** Makes the redo log of a server hang, like a disk that stops answering. */
export interface LogHang {
  /** Options of the server: it loads the library, and its files are on a disk. */
  readonly own: OwnOptions
  begin(): Promise<void>
  end(): Promise<void>
  /** Returns the number of the server's calls that have waited so far. */
  hung(): Promise<number>
  remove(): Promise<void>
}

/** Returns why this machine cannot make a redo log hang; undefined if it can. */
export function whyNoLogHang(): string | undefined {
  if (findServer()?.flavor !== 'mariadb') return 'needs MariaDB, whose redo log is made to hang'
  if (spawnSync('gcc', ['--version']).error !== undefined)
    return 'needs gcc, to build a library that makes the redo log hang'
  return undefined
}

/** Returns a temporary folder on a disk. MariaDB maps a log file in `/dev/shm` into memory, and then writes nothing that could hang. */
function folderOfFiles(): string {
  const usual = tmpdir()
  return usual.startsWith('/dev/shm') ? '/tmp' : usual
}

/** Builds the library to preload. Throws `Skip` if this machine cannot. */
export async function buildLogHang(): Promise<LogHang> {
  const why = whyNoLogHang()
  if (why !== undefined) throw new Skip(why)
  const folder = await mkdtemp(join(folderOfFiles(), 'looseleaf-hang-'))
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
    own: {
      folder: join(folder, 'data'),
      environment: { LD_PRELOAD: library, LOOSELEAF_HANG_LOG: control },
    },
    begin: () => writeFile(control, ''),
    end: () => rm(control, { force: true }),
    hung: async () => (await stat(`${control}.hung`).catch(() => undefined))?.size ?? 0,
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
