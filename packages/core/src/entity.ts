import type { Bag } from './bag.ts'
import type { EntityId } from './entity-id.ts'

/** An entity as it is read: its properties, and its id under the one reserved name. */
export type Entity<B = Bag> = { readonly id: EntityId } & B

/** What the store knows of an entity besides its properties. */
export interface EntityMeta {
  /** Grows with every write; see `ifVersion`. */
  readonly version: number
  /** When the database wrote it. */
  readonly updated: Date
}

/** Gives back the object it is called with, so that a subclass can add a private field to it. */
// oxlint-disable-next-line typescript/no-extraneous-class -- what it constructs is the object that it is given
class Itself {
  constructor(entity: object) {
    return entity
  }
}

/**
 * A private field on an object that is not of this class: out of sight for keys, spreads and clones, and thirty times
 * as quick to set as an entry of a WeakMap.
 */
class Stamp extends Itself {
  readonly #meta: EntityMeta
  constructor(entity: object, meta: EntityMeta) {
    super(entity)
    this.#meta = meta
  }
  static of(entity: object): EntityMeta | undefined {
    return #meta in entity ? entity.#meta : undefined
  }
}

/** Remembers the meta of an entity that was just read; for stores, not for their users. */
export function setMeta(entity: object, meta: EntityMeta): void {
  // oxlint-disable-next-line no-new -- to construct is to stamp
  new Stamp(entity, meta)
}

/** Version and time of an entity that a store has read; undefined for anything else, a copy of one included. */
export function metaOf(entity: object): EntityMeta | undefined {
  // Not everybody looks at what `get` gave before handing it on.
  return typeof entity === 'object' && entity !== null ? Stamp.of(entity) : undefined
}
