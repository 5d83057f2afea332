import {
  isLooseleafError,
  LooseleafError,
  type Codec,
  type DriverFactory,
  type IndexDefinitionData,
  type Observer,
  type Router,
} from '@looseleaf/core'
import { indexesOf, type AnyKind } from '@looseleaf/kinds'
import { DataStore } from '@looseleaf/store'
import { dirname, resolve } from 'node:path'
import type { LooseleafConfig } from './define-config.ts'
import { shardsFrom } from './shards-from.ts'
import type { Console } from './console.ts'
import { findConfig, loadConfig, type LoadedConfig } from './load-config.ts'
import type { Output } from './output.ts'

/** What every command takes. */
export interface CommonOptions {
  readonly config?: string
  readonly shards?: string
  readonly json?: boolean
  readonly debug?: boolean
}

/** Which store the command works on, from the command line, the environment and the config file, in this order. */
export interface Settings {
  readonly shards: DriverFactory
  /** False when the command line or the environment names the store. */
  readonly isOfConfig: boolean
  /** Those of the config and of its kinds. */
  readonly indexes: readonly IndexDefinitionData[]
  readonly kinds: readonly AnyKind[]
  readonly router: Router | undefined
  readonly codec: Codec | undefined
  /** How the store writes; what is not given is as for `DataStore.open`. */
  readonly writing: Pick<LooseleafConfig, 'deleteDelayMs' | 'queryTimeMs' | 'writeOrder' | 'onIndexFailure'>
  /** The config file in use, if there is one. */
  readonly file: string | undefined
}

export interface OpenOptions {
  /** Create what is missing. Default: false. */
  readonly migrate?: boolean
  /** Begin empty shards of a store in use anew. Default: false. */
  readonly acceptEmptyShards?: boolean
  /** Tell the store's warnings. Default: true. */
  readonly warn?: boolean
  readonly observer?: Observer
}

/** One run of one command: its store, opened once and closed at the end, and its output. */
export interface Session {
  readonly console: Console
  readonly output: Output
  readonly signal: AbortSignal
  /** The first call says whether `connect` may make SQLite files that are not there. Default: false. */
  settings(create?: boolean): Promise<Settings>
  store(options?: OpenOptions): Promise<DataStore>
  close(): Promise<void>
}

export function createSession(console: Console, output: Output, options: CommonOptions): Session {
  let settings: Promise<Settings> | undefined
  let store: Promise<DataStore> | undefined

  async function openStore({
    migrate = false,
    acceptEmptyShards = false,
    warn = true,
    observer,
  }: OpenOptions): Promise<DataStore> {
    const { shards, isOfConfig, indexes, router, codec, writing, file } = await session.settings(migrate)
    const { queryTimeMs, deleteDelayMs, onIndexFailure, ...others } = writing
    const ofStore = {
      // Of a store that is there, it says what the config's own store was made with.
      ...(queryTimeMs !== undefined && (isOfConfig || migrate) && { queryTimeMs }),
      ...(deleteDelayMs !== undefined && migrate && { deleteDelayMs }),
      ...(onIndexFailure !== undefined && migrate && { onIndexFailure }),
    }
    const fromConfig = [...(router ? ['router'] : []), ...Object.keys(ofStore)]
    const opening = DataStore.open({
      shards,
      migrate,
      acceptEmptyShards,
      // Without `migrate` the store's own catalog says which indexes there are.
      ...(migrate && { indexes }),
      ...(observer && { observer }),
      ...(router && { router }),
      ...(codec && { codec }),
      ...others,
      ...ofStore,
      onWarning(warning) {
        if (warn) output.note(`${output.colors.yellow('Warning:')} ${warning}`)
      },
    })
    return opening.catch((error: unknown) => {
      if (fromConfig.length === 0 || !isLooseleafError(error, 'LAYOUT_MISMATCH')) throw error
      const message = `${error.message} (Given by ${file}: ${fromConfig.join(', ')}.)`
      throw new LooseleafError(error.code, message, { shard: error.shard, cause: error })
    })
  }

  const session: Session = {
    console,
    output,
    signal: console.signal,
    settings: (create = false) => (settings ??= readSettings(console, options, create)),
    store: (open = {}) => (store ??= openStore(open)),
    async close() {
      // A store that could not be opened has been reported where it was asked for.
      await (await store?.catch(() => undefined))?.close()
    },
  }
  return session
}

async function readSettings(console: Console, options: CommonOptions, create: boolean): Promise<Settings> {
  const { cwd, env, signal } = console
  const file = options.config === undefined ? findConfig(cwd) : resolve(cwd, options.config)
  const loaded = file === undefined ? undefined : await loadConfig(file, signal)
  const named = options.shards ?? (env['LOOSELEAF_SHARDS'] || undefined)
  const shards = givenShards(named, loaded, { cwd, create })
  const { indexes: own = [], kinds = [], router, codec }: Partial<LooseleafConfig> = loaded?.config ?? {}
  const { deleteDelayMs, queryTimeMs, writeOrder, onIndexFailure }: Partial<LooseleafConfig> =
    loaded?.config ?? {}
  const writing = {
    ...(deleteDelayMs !== undefined && { deleteDelayMs }),
    ...(queryTimeMs !== undefined && { queryTimeMs }),
    ...(writeOrder !== undefined && { writeOrder }),
    ...(onIndexFailure !== undefined && { onIndexFailure }),
  }
  const indexes = [...own, ...indexesOf(...kinds)]
  return { shards, isOfConfig: named === undefined, indexes, kinds, router, codec, writing, file }
}

function givenShards(
  text: string | undefined,
  loaded: LoadedConfig | undefined,
  { cwd, create }: { readonly cwd: string; readonly create: boolean },
): DriverFactory {
  if (text !== undefined) return shardsFrom(text, { relativeTo: cwd, create })
  if (loaded === undefined) {
    throw new LooseleafError(
      'BAD_OPTION',
      'Which store? Give --shards mysql://…,mysql://…, set LOOSELEAF_SHARDS, or write a looseleaf.config.ts here or in a folder above.',
    )
  }
  const { shards } = loaded.config
  if (shards === undefined) {
    throw new LooseleafError(
      'BAD_OPTION',
      `Which store? ${loaded.file} names no shards: give them there, by --shards mysql://…,mysql://…, or by LOOSELEAF_SHARDS.`,
    )
  }
  return typeof shards === 'string'
    ? shardsFrom(shards, { relativeTo: dirname(loaded.file), create })
    : shards
}
