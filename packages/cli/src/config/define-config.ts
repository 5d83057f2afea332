import type { Codec, DriverFactory, IndexDefinitionData, Router } from '@looseleaf/core'
import type { AnyKind } from '@looseleaf/kinds'

/** Default export of `looseleaf.config.ts`: the store of the `looseleaf` command. */
export interface LooseleafConfig {
  /**
   * The databases: the result of `mysqlShards(…)` or `sqliteShards(…)`, or a text for `shardsFrom`. A relative folder in
   * the text starts at the folder of the config file. Optional if `--shards` or `LOOSELEAF_SHARDS` names the store.
   */
  readonly shards?: DriverFactory | string | undefined
  /** Results of `defineIndex`, which `looseleaf init` and `looseleaf index add` create. */
  readonly indexes?: readonly IndexDefinitionData[] | undefined
  /** Results of `defineKind`. Their indexes are created like `indexes`, and `looseleaf kind upgrade` upgrades their entities. */
  readonly kinds?: readonly AnyKind[] | undefined
  /** The router that the program gives to `DataStore.open`. Same default. */
  readonly router?: Router | undefined
  /** A codec that reads the bodies of the program. Same default as `DataStore.open`. */
  readonly codec?: Codec | undefined
  /** Policy that `looseleaf init` gives to a new store, in milliseconds. `looseleaf policies` changes it. */
  readonly deleteDelayMs?: number | undefined
  /** Policy that `looseleaf init` gives to a new store. `looseleaf policies` changes it. */
  readonly onIndexFailure?: 'fail' | 'defer' | undefined
  /** Milliseconds. `looseleaf init` gives it to new shards; other commands check that the store of `shards` has the same. */
  readonly queryTimeMs?: number | undefined
  /** Option of `DataStore.open` for the writes of the command. */
  readonly writeOrder?: 'index-first' | 'entity-first' | undefined
}

/** Returns its argument. Gives editors the type of the config. */
export function defineConfig(config: LooseleafConfig): LooseleafConfig {
  return config
}
