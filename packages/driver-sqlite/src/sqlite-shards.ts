import { mkdir, readdir } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve } from 'node:path'
import { LooseleafError, type Driver, type DriverFactory } from '@looseleaf/core'
import { badArgument, checkOptions } from '@looseleaf/core/internal'
import { checkEntityTable } from '@looseleaf/driver-kysely/internal'
import { FOLDER_MODE } from './file-modes.ts'
import { openShards, type ShardFile } from './open-shards.ts'
import { sqliteOptions } from './options.ts'

export interface SqliteShardsOptions {
  /**
   * Folder with `shard-0.sqlite`, `shard-1.sqlite` and so on. A missing folder or file is created for the user of the process only.
   * Existing ones keep their modes.
   */
  readonly folder: string
  /**
   * Number of shards of a new folder. An existing one may hold more, which an open store finds by itself, and not less. Default: 1.
   */
  readonly shards?: number | undefined
  /** Whether `connect` creates a missing folder and files. With false it rejects with `NOT_MIGRATED` instead. Default: true. */
  readonly create?: boolean | undefined
  /**
   * `full`: an acknowledged write survives a power failure. `normal`: it survives a crash of the process, but a power failure may undo
   * the last writes; several times faster. Default: `full`.
   */
  readonly durability?: 'full' | 'normal' | undefined
  /** Milliseconds that a statement waits for a file that another process has locked. Default: 5,000. */
  readonly deadlineMs?: number | undefined
  /** Name of the entity table. The store keeps it, and refuses another name with `LAYOUT_MISMATCH`. Default: `entities`. */
  readonly entityTable?: string | undefined
}

/**
 * Describes shards in SQLite files. Several processes of one machine may use a folder at the same time. The address of a shard is the path
 * of its file, from the folder; a new file has to end in `.sqlite`. Throws `BAD_OPTION`. `connect` rejects with `LAYOUT_MISMATCH` if the folder has fewer shards.
 */
export function sqliteShards(options: SqliteShardsOptions): DriverFactory {
  checkOptions('sqliteShards', options, sqliteOptions)
  const { folder, shards: shardCount = 1, create = true, durability = 'full', deadlineMs = 5_000 } = options
  if (folder === undefined) throw badArgument('sqliteShards', '{ folder }, the path of a folder', folder)
  const entityTable = checkEntityTable(options.entityTable ?? 'entities')

  return {
    shardCount,
    async connect({ statements } = {}): Promise<Driver> {
      if (create) await makeFolder(folder)
      const existing = await countShards(folder)
      if (existing === 0 && !create) {
        throw new LooseleafError(
          'NOT_MIGRATED',
          `${folder} holds no store, and none is created here. Create one with \`looseleaf init\`, or by opening it with \`migrate: true\`.`,
        )
      }
      if (existing !== 0 && existing < shardCount) throw otherCount(folder, existing, shardCount)
      const settings = { durability, deadlineMs, entityTable, statements }
      const driver = await openShards(filesOf(folder, shardCount), settings, (address) =>
        fileAt(folder, address),
      )
      // With more files, the store finds the other shards by its layout, which each of its shards has. The file of a removed shard may be gone.
      if (existing > shardCount && !(await hasCatalog(driver))) {
        await driver.close()
        throw otherCount(folder, existing, shardCount)
      }
      return driver
    },
  }
}

async function hasCatalog({ shards }: Driver): Promise<boolean> {
  const catalogs = await Promise.all(shards.map(({ catalog }) => catalog.load()))
  return catalogs.some((catalog) => catalog !== undefined)
}

function otherCount(folder: string, existing: number, shardCount: number): LooseleafError {
  return new LooseleafError(
    'LAYOUT_MISMATCH',
    `${folder} holds ${existing} ${existing === 1 ? 'shard' : 'shards'}, and ${shardCount} ${shardCount === 1 ? 'was' : 'were'} asked for. Give \`shards: ${existing}\` (sqlite:folder?shards=${existing} in a text).`,
  )
}

function filesOf(folder: string, count: number): readonly ShardFile[] {
  return Array.from({ length: count }, (_, number): ShardFile => {
    const name = `shard-${number}.sqlite`
    return { name, file: join(folder, name) }
  })
}

/** Returns the file of an address: a path, from the folder. Equal for equal spellings of one path. */
function fileAt(folder: string, address: unknown): ShardFile {
  // A drive of Windows has one letter.
  const isUrl = typeof address === 'string' && /^[a-z][a-z\d+.-]+:/i.test(address)
  if (typeof address !== 'string' || isUrl || address === '' || /\0|[/\\]$/.test(address))
    throw badArgument('A SQLite shard', 'the path of a file, such as shard-2.sqlite', address)
  const file = resolve(folder, address)
  const within = relative(resolve(folder), file)
  return { name: within.startsWith('..') || isAbsolute(within) ? file : within, file }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  } catch (cause) {
    throw unusable(folder, 'is not a folder and cannot be created', cause)
  }
}

function unusable(folder: string, flaw: string, cause: unknown): LooseleafError {
  const isForbidden = (cause as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED'
  const message = isForbidden
    ? `Node does not allow the use of ${folder}. Start it with --allow-fs-read and --allow-fs-write for it, beside --permission.`
    : `${folder} ${flaw}.`
  return new LooseleafError('SHARD_UNAVAILABLE', message, { cause, retryable: false })
}

/** Returns the number of shards of a folder. Files are created from the last to the first, so the greatest number tells. */
async function countShards(folder: string): Promise<number> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw unusable(folder, 'is not a readable folder', error)
  })
  const numbers = names.map((name) => /^shard-(\d+)\.sqlite$/.exec(name)?.[1])
  return Math.max(0, ...numbers.map((number) => (number === undefined ? 0 : Number(number) + 1)))
}
