import type { EngineContext } from '@looseleaf/index-engine'

/** Whose changes are followed: a `DataStore` fits. */
export interface ChangesStore {
  readonly context: EngineContext
}
