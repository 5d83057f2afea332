import type { EngineContext } from '@looseleaf/index-engine'

/** What the cleaner works on: a `DataStore` fits. */
export interface CleanerStore {
  readonly context: EngineContext
}
