import {
  isLooseleafError,
  LooseleafError,
  type Codec,
  type DriverFactory,
  type IndexDefinitionData,
  type Router,
} from '@looseleaf/core'
import { badOption } from '@looseleaf/core/internal'
import { indexesOf, type AnyKind } from '@looseleaf/kinds'
import { DataStore } from '@looseleaf/store'
import { dirname, resolve } from 'node:path'
import type { LooseleafConfig } from '../config/define-config.ts'
import { shardsFrom } from '../config/shards-from.ts'
import type { Console } from '../output/console.ts'
import { findConfig, loadConfig, type LoadedConfig } from '../config/load-config.ts'
import type { Output } from '../output/output.ts'

export interface CommonOptions {
  readonly config?: string
  readonly shards?: string
  readonly json?: boolean
  readonly debug?: boolean
}

/** The store of the command, from the command line, the environment or the config file, in this order. */
export interface Settings {
  readonly shards: DriverFactory
  /** False if the command line or the environment names the store. */
  readonly isFromConfig: boolean
  /** Indexes of the config and of its kinds. */
  readonly indexes: readonly IndexDefinitionData[]
  readonly kinds: readonly AnyKind[]
  readonly router: Router | undefined
  readonly codec: Codec | undefined
  /** Options of `DataStore.open` that the config sets. */
  readonly writing: Pick<LooseleafConfig, 'deleteDelayMs' | 'queryTimeMs' | 'writeOrder' | 'onIndexFailure'>
  /** The config file; undefined without one. */
  readonly file: string | undefined
}

export interface OpenOptions {
  /** Creates missing tables and indexes. Default: false. */
  readonly migrate?: boolean
  /** Initializes empty shards of a store in use. Default: false. */
  readonly acceptEmptyShards?: boolean
  /** Prints the store's warnings. Default: true. */
  readonly warn?: boolean
}

/** One execution of a command: its store, opened once and closed at the end, and its output. */
export interface Invocation {
  readonly console: Console
  readonly output: Output
  readonly signal: AbortSignal
  /** `create` of the first call decides whether `connect` may create missing SQLite files. Default: false. */
  settings(create?: boolean): Promise<Settings>
  /** Opens the store by the options of the first call. */
  openStore(options?: OpenOptions): Promise<DataStore>
  close(): Promise<void>
}

export function createInvocation(console: Console, output: Output, options: CommonOptions): Invocation {
  let settings: Promise<Settings> | undefined
  let store: Promise<DataStore> | undefined

  async function openWith(open: OpenOptions): Promise<DataStore> {
    const { migrate = false, acceptEmptyShards = false, warn = true } = open
    const { shards, isFromConfig, indexes, router, codec, writing, file } = await invocation.settings(migrate)
    const { queryTimeMs, deleteDelayMs, onIndexFailure, writeOrder } = writing
    const fromConfig = {
      router,
      // Without `migrate` it is a check, which only applies to the config's own store.
      queryTimeMs: isFromConfig || migrate ? queryTimeMs : undefined,
      deleteDelayMs: migrate ? deleteDelayMs : undefined,
      onIndexFailure: migrate ? onIndexFailure : undefined,
    }
    const opening = DataStore.open({
      shards,
      migrate,
      acceptEmptyShards,
      // Without `migrate` the indexes come from the store's catalog.
      indexes: migrate ? indexes : undefined,
      codec,
      writeOrder,
      ...fromConfig,
      onWarning(warning) {
        if (warn) output.warn(warning)
      },
    })
    return opening.catch((error: unknown) => {
      const given = Object.entries(fromConfig).flatMap(([name, value]) => (value === undefined ? [] : [name]))
      if (given.length === 0 || !isLooseleafError(error, 'LAYOUT_MISMATCH')) throw error
      const message = `${error.message} (Given by ${file}: ${given.join(', ')}.)`
      throw new LooseleafError(error.code, message, { shard: error.shard, cause: error })
    })
  }

  const invocation: Invocation = {
    console,
    output,
    signal: console.signal,
    settings: (create = false) => (settings ??= readSettings(console, options, create)),
    openStore: (open = {}) => (store ??= openWith(open)),
    async close() {
      // An error of `open` was already reported by the action.
      await (await store?.catch(() => undefined))?.close()
    },
  }
  return invocation
}

async function readSettings(console: Console, options: CommonOptions, create: boolean): Promise<Settings> {
  const { cwd, env, signal } = console
  const file = options.config === undefined ? findConfig(cwd) : resolve(cwd, options.config)
  const loaded = file === undefined ? undefined : await loadConfig(file, signal)
  const named = options.shards ?? (env['LOOSELEAF_SHARDS'] || undefined)
  const shards = givenShards(named, loaded, { cwd, create })
  const writing: LooseleafConfig = loaded?.config ?? {}
  const { indexes: listed = [], kinds = [], router, codec } = writing
  const indexes = [...listed, ...indexesOf(...kinds)]
  return { shards, isFromConfig: named === undefined, indexes, kinds, router, codec, writing, file }
}

function givenShards(
  text: string | undefined,
  loaded: LoadedConfig | undefined,
  { cwd, create }: { readonly cwd: string; readonly create: boolean },
): DriverFactory {
  if (text !== undefined) return shardsFrom(text, { relativeTo: cwd, create })
  if (loaded === undefined) {
    throw badOption(
      'No store is given. Give --shards mysql://…,mysql://…, set LOOSELEAF_SHARDS, or write a looseleaf.config.ts here or in a folder above.',
    )
  }
  const { shards } = loaded.config
  if (shards === undefined) {
    throw badOption(
      `No store is given: ${loaded.file} names no shards. Name them there, by --shards mysql://…,mysql://…, or by LOOSELEAF_SHARDS.`,
    )
  }
  return typeof shards === 'string'
    ? shardsFrom(shards, { relativeTo: dirname(loaded.file), create })
    : shards
}
