import type { Bag, EntityId } from '@looseleaf/core'
import type { Acknowledged, Acknowledgements } from './acknowledgements.ts'
import type { Check } from '../checks.ts'
import type { Bound, Evidence, Operation } from './evidence.ts'

/** Checks the result of a read with a staleness bound. */
type BoundRead = (
  operation: Operation,
  id: EntityId,
  version: number | undefined,
  bag: Bag | undefined,
  bound: Bound,
) => void

/** Checks of reads of single entities. */
export interface ReadChecks {
  /** Checks the result of a read. */
  read(operation: Operation, id: EntityId, version: number | undefined, bag: Bag | undefined): void
  /** Checks a read from replicas. */
  readonly readReplica: BoundRead
  /** Checks a read through the shared cache. */
  readonly readCache: BoundRead
}

export function createReadChecks(
  { check, counts, during, within }: Evidence,
  acknowledgements: Acknowledgements,
): ReadChecks {
  function checkThere(
    operation: Operation,
    id: EntityId,
    version: number | undefined,
    bag: Bag | undefined,
    name: Check,
  ): void {
    const isRight = during(operation, id).some((state) =>
      bag === undefined ? state.bag === null : state.version === version && state.bag?.['by'] === bag['by'],
    )
    check(name, !isRight && `a read of ${id} returned a state that the entity never had during the read`)
  }

  /** Checks a found state against those that the databases had. */
  function checkKnown(
    { since }: Operation,
    id: EntityId,
    version: number | undefined,
    name: Check,
    isBinding: (write: Acknowledged) => boolean = () => true,
  ): void {
    const known = acknowledgements.of(id).filter((write) => write.at <= since && isBinding(write))
    if (version === undefined || known.length === 0) return
    check(
      name,
      known.some((write) => write.version > version) &&
        `a read of ${id} returned an older version than an earlier acknowledged one`,
    )
  }

  return {
    read(operation, id, version, bag) {
      counts.reads++
      checkThere(operation, id, version, bag, 'a read returns a state that the entity had during the read')
      checkKnown(operation, id, version, 'a read returns nothing older than earlier acknowledged writes')
    },

    readReplica(operation, id, version, bag, bound) {
      counts.reads++
      const name = 'a read from replicas returns a state within its bound and no older than its token'
      checkThere(within(operation, bound), id, version, bag, name)
      checkKnown(within(operation, bound), id, version, name)
    },

    readCache(operation, id, version, bag, bound) {
      counts.reads++
      checkThere(
        within(operation, bound),
        id,
        version,
        bag,
        'a read through a shared cache returns a state within its bound',
      )
      const own =
        'a read through a shared cache returns nothing older than writes that its own store acknowledged'
      // Writes acknowledged later may carry the same moment.
      const isOwn = ({ number, store }: Acknowledged): boolean =>
        store === operation.store && number <= operation.acknowledged
      checkKnown(operation, id, version, own, isOwn)
    },
  }
}
