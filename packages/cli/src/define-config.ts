import type { Codec, DriverFactory, IndexDefinitionData, Router } from '@looseleaf/core'
import type { AnyKind } from '@looseleaf/kinds'

/** What `looseleaf.config.ts` says: the store that the `looseleaf` command works on. */
export interface LooseleafConfig {
  /**
   * The databases: what `mysqlShards(…)` or `sqliteShards(…)` gives, or a text for `shardsFrom`. A relative folder in
   * a text begins at the file's own folder. May be left out where `--shards` or `LOOSELEAF_SHARDS` names the store.
   */
  readonly shards?: DriverFactory | string | undefined
  /** The indexes that `looseleaf init` and `looseleaf index add` create, from `defineIndex`. */
  readonly indexes?: readonly IndexDefinitionData[] | undefined
  /** The kinds of the store, from `defineKind`: their indexes are among those above, and `looseleaf kind upgrade` knows their shapes. */
  readonly kinds?: readonly AnyKind[] | undefined
  /** Has to be the one that the program gives to `DataStore.open`. Default: as there. */
  readonly router?: Router | undefined
  /** Has to be able to read what the program writes. Default: as for `DataStore.open`. */
  readonly codec?: Codec | undefined
  /** What `looseleaf init` gives to a store that has no such policy yet; `looseleaf policies` changes it. */
  readonly deleteDelayMs?: number | undefined
  /** As `deleteDelayMs`. */
  readonly onIndexFailure?: 'fail' | 'defer' | undefined
  /** For `looseleaf init` on new shards; elsewhere it has to agree with the store of `shards`. */
  readonly queryTimeMs?: number | undefined
  /** As the program gives it to `DataStore.open`, for the writes of the command. */
  readonly writeOrder?: 'index-first' | 'entity-first' | undefined
}

/** Gives back its argument: it is there so that an editor knows what a configuration may say. */
export function defineConfig(config: LooseleafConfig): LooseleafConfig {
  return config
}
