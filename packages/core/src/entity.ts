import type { Bag } from './bag.ts'
import type { EntityId } from './entity-id.ts'
import { Itself } from './itself.ts'

/** An entity as it is read: its properties, and its id under the one reserved name. */
export type Entity<B = Bag> = { readonly id: EntityId } & B

/** What the store knows of an entity besides its properties. */
export interface EntityMeta {
  /** Grows with every write; see `ifVersion`. */
  readonly version: number
  /** When the database wrote it. */
  readonly updated: Date
}

class Stamp extends Itself {
  readonly #version: number
  readonly #updatedMs: number
  constructor(entity: object, version: number, updatedMs: number) {
    super(entity)
    this.#version = version
    this.#updatedMs = updatedMs
  }
  static of(entity: object): EntityMeta | undefined {
    // Made when somebody asks, which few do.
    return #version in entity ? { version: entity.#version, updated: new Date(entity.#updatedMs) } : undefined
  }
}

/** Remembers the meta of an entity that was just read, with its time in ms since 1970; for stores, not for their users. */
export function setMeta(entity: object, version: number, updatedMs: number): void {
  // oxlint-disable-next-line no-new -- to construct is to stamp
  new Stamp(entity, version, updatedMs)
}

/** Version and time of an entity that a store has read; undefined for anything else, a copy of one included. */
export function metaOf(entity: object): EntityMeta | undefined {
  // Not everybody looks at what `get` gave before handing it on.
  return typeof entity === 'object' && entity !== null ? Stamp.of(entity) : undefined
}
