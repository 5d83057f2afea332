import { parseId, type EntityId, type Router } from '@looseleaf/core'

/** The parts of a store that make ids. */
interface IdMaker {
  newId(): EntityId
  readonly context: { readonly router: Pick<Router, 'shardOfId'> }
}

/** Makes an id of a new entity whose first shard is this one. */
export function idOn(store: IdMaker, shard: number): EntityId {
  for (;;) {
    const id = store.newId()
    if (store.context.router.shardOfId(parseId(id)) === shard) return id
  }
}
