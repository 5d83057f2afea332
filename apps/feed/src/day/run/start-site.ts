import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { shardsFrom, sqliteShards } from 'looseleaf'
import { openSite, type Site } from '../../domain/site/site.ts'
import { startProgram, type Program, type ProgramOptions } from './programs.ts'

/** Number of SQLite shards, as in a data folder of the site. */
const SQLITE_SHARDS = 2

/** Paths of the programs of the site. */
export interface ProgramPaths {
  readonly web: string
  readonly crawler: string
  readonly deliver: string
  readonly execArgv?: readonly string[]
}

/** A place for the data of a run, which is empty at first. */
export interface Place {
  /** The store, open in this process. */
  readonly site: Site
  /** Starts a program of the site on this data. */
  start(
    name: keyof Omit<ProgramPaths, 'execArgv'>,
    options?: { readonly env?: Readonly<Record<string, string>> },
  ): Promise<Program>
  /** Stops the programs, closes the store, and deletes a folder that was made for it. */
  close(): Promise<void>
}

const READY: Readonly<Record<string, RegExp>> = {
  web: /Looseleaf is at (\S+)/,
  crawler: /Fetching the sources of/,
  deliver: /Delivers the entries in/,
}

/** Opens the databases at these addresses, or a new folder with SQLite shards if there are none. */
export async function openPlace(paths: ProgramPaths, addresses: string | undefined): Promise<Place> {
  const folder = addresses === undefined ? await mkdtemp(join(tmpdir(), 'looseleaf-day-')) : undefined
  const shards =
    folder === undefined ? shardsFrom(addresses as string) : sqliteShards({ folder, shards: SQLITE_SHARDS })
  const programs: Program[] = []
  const remove = async (): Promise<void> => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
  const site = await openSite({ shards, cleaner: false }).catch(async (error: unknown) => {
    await remove()
    throw error
  })
  return {
    site,
    async start(name, { env = {} } = {}) {
      const place: Record<string, string> =
        folder === undefined
          ? { LOOSELEAF_SHARDS: addresses as string }
          : { LOOSELEAF_DATA: folder, LOOSELEAF_SHARDS: '' }
      const own = {
        FEED_CRAWL: 'elsewhere',
        FEED_DELIVER: 'elsewhere',
        FEED_ORIGIN: '',
        FEED_STRIP: 'hidden',
        HOST: '',
      }
      const options: ProgramOptions = {
        name,
        path: paths[name],
        args: name === 'web' ? ['--port', '0'] : [],
        env: { ...own, ...place, ...env },
        ready: READY[name] as RegExp,
        execArgv: paths.execArgv ?? [],
      }
      const program = await startProgram(options)
      programs.push(program)
      return program
    },
    async close() {
      await Promise.all(programs.map((program) => program.stop()))
      await site.close()
      await remove()
    },
  }
}
