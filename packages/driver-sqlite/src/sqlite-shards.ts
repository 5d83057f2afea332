import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { LooseleafError, type Driver, type DriverFactory } from '@looseleaf/core'
import { checkEntityTable } from '@looseleaf/driver-kysely'
import { FOLDER_MODE } from './file-modes.ts'
import { openShards, type ShardFile } from './open-shards.ts'
import { badOption, checkDeadline, checkFolder, checkNames, checkShardCount } from './options.ts'

export interface SqliteShardsOptions {
  /**
   * Holds `shard-0.sqlite`, `shard-1.sqlite` and so on; made when it is not there. What is made can be read by the user of
   * the process alone; what is there keeps its modes, and others may use it as far as these allow.
   */
  readonly folder: string
  /** How many; a folder keeps its number for ever. 1 by default. */
  readonly shards?: number | undefined
  /** Make what is not there; with false, `connect` rejects with `NOT_MIGRATED` instead. True by default. */
  readonly create?: boolean | undefined
  /**
   * `full` (default): a write that was acknowledged survives a loss of power. `normal`: it survives the end of the
   * process, but a loss of power may undo the last ones; several times faster.
   */
  readonly durability?: 'full' | 'normal' | undefined
  /** Milliseconds that a statement waits for a file that another process has locked; 5,000 by default. */
  readonly deadlineMs?: number | undefined
  /** `entities` by default. */
  readonly entityTable?: string | undefined
}

/**
 * Shards in SQLite files. Any number of processes of one machine may use the folder at once.
 * Throws `BAD_OPTION`; `connect` rejects with `LAYOUT_MISMATCH` where the folder has another number of shards.
 */
export function sqliteShards(options: SqliteShardsOptions): DriverFactory {
  checkNames(options, ['folder', 'shards', 'create', 'durability', 'deadlineMs', 'entityTable'])
  const folder = checkFolder(options.folder)
  const shardCount = checkShardCount(options.shards ?? 1)
  const deadlineMs = checkDeadline(options.deadlineMs ?? 5_000)
  const entityTable = checkEntityTable(options.entityTable ?? 'entities')
  const durability = options.durability ?? 'full'
  if (durability !== 'full' && durability !== 'normal') {
    throw badOption('durability', "'full' or 'normal'", durability)
  }

  const create = options.create ?? true
  if (typeof create !== 'boolean') throw badOption('create', 'true or false', create)

  return {
    shardCount,
    async connect({ statements } = {}): Promise<Driver> {
      if (create) await makeFolder(folder)
      const there = await countShards(folder)
      if (there === 0 && !create) {
        throw new LooseleafError(
          'NOT_MIGRATED',
          `${folder} holds no store, and none is made here. Make one with \`looseleaf init\`, or by opening it with \`migrate: true\`.`,
        )
      }
      if (there !== 0 && there !== shardCount) {
        throw new LooseleafError(
          'LAYOUT_MISMATCH',
          `${folder} holds ${there} ${there === 1 ? 'shard' : 'shards'}, and ${shardCount} ${shardCount === 1 ? 'was' : 'were'} asked for. Give \`shards: ${there}\` (sqlite:folder?shards=${there} in a text).`,
        )
      }
      const files = Array.from({ length: shardCount }, (_, number): ShardFile => {
        const name = `shard-${number}.sqlite`
        return { name, file: join(folder, name) }
      })
      return openShards(files, { durability, deadlineMs, entityTable, statements })
    },
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: FOLDER_MODE })
  } catch (cause) {
    throw unusable(folder, 'is not a folder and cannot be made one', cause)
  }
}

function unusable(folder: string, flaw: string, cause: unknown): LooseleafError {
  const isForbidden = (cause as NodeJS.ErrnoException).code === 'ERR_ACCESS_DENIED'
  const message = isForbidden
    ? `Node does not allow the use of ${folder}. Start it with --allow-fs-read and --allow-fs-write for it, beside --permission.`
    : `${folder} ${flaw}.`
  return new LooseleafError('SHARD_UNAVAILABLE', message, { cause, retryable: false })
}

/** Shards that a folder was made for: files are made from the last to the first, so the greatest number tells. */
async function countShards(folder: string): Promise<number> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw unusable(folder, 'is not a folder that can be read', error)
  })
  const numbers = names.map((name) => /^shard-(\d+)\.sqlite$/.exec(name)?.[1])
  return Math.max(0, ...numbers.map((number) => (number === undefined ? 0 : Number(number) + 1)))
}
