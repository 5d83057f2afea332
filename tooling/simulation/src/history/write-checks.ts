import type { EntityId, LooseleafError } from '@looseleaf/core'
import type { Acknowledgements } from './acknowledgements.ts'
import type { Evidence, Operation } from './evidence.ts'
import { keysIn } from '../shapes/indexes.ts'

/** Checks of writes. */
export interface WriteChecks {
  /** Reads new states of the databases. Call after each event. */
  observe(): void
  /** Checks an acknowledged write with this version that was to replace `base`, if given. */
  acknowledged(operation: Operation, id: EntityId, version: number, base?: number): void
  /** Announces the operations of a batch, which stand in the bags that it writes. */
  batched(operations: readonly Operation[]): void
  /** Checks the answer of a delete, which tells whether the entity existed. */
  deleted(operation: Operation, id: EntityId, wasThere: boolean): void
  /** Checks that a write that was reported as failed never takes place. */
  failed(operation: Operation): void
  /** Checks a write that was refused because this entity has the key that the write wanted in this index. */
  refused(operation: Operation, refusal: Pick<LooseleafError, 'index' | 'holder'>): void
}

export function createWriteChecks(
  { check, states, counts, during }: Evidence,
  acknowledgements: Acknowledgements,
): WriteChecks {
  const definitelyFailed = new Set<number>()
  /** Operations of each batch. */
  const batches: (readonly number[])[] = []

  function lookAtBatches(): void {
    for (const numbers of batches) {
      const lacking = numbers.filter((number) => !states.wasCommittedBy(number))
      if (lacking.length === numbers.length) continue
      check(
        'a batch takes place as a whole or not at all',
        lacking.length > 0 &&
          `operations ${numbers.join(', ')} are a batch, and ${lacking.join(', ')} did not take place`,
      )
    }
  }

  return {
    observe() {
      for (const { id, version, bag, before } of states.observe()) {
        if (before > 0)
          check(
            'versions of an entity grow',
            before >= version && `${id} went back from version ${before} to ${version}`,
          )
        const by = Number(bag?.['by'] ?? 0)
        if (definitelyFailed.has(by))
          check('a failed write never takes place', `operation ${by} failed and took place`)
      }
      lookAtBatches()
    },

    batched(operations) {
      if (operations.length > 1) batches.push(operations.map(({ number }) => number))
    },

    acknowledged(operation, id, version, base) {
      counts.acknowledged++
      if (version === 0) return
      const before = states.before(id, version)
      check(
        'an acknowledged write was committed',
        before === undefined && `version ${version} of ${id} was acknowledged and never committed`,
      )
      if (before === undefined) return
      if (base !== undefined) {
        check(
          'a conditional write replaces the version that it expects',
          base !== (before.bag === null ? 0 : before.version) &&
            `version ${version} of ${id} replaced another version than the expected one`,
        )
      }
      acknowledgements.add(id, version, operation)
    },

    deleted(operation, id, wasThere) {
      const possible = during(operation, id)
      const tombstones = possible.slice(1).filter(({ bag }) => bag === null)
      check(
        'a delete reports correctly whether it deleted the entity',
        wasThere && tombstones.length === 0 && `${id} was reported as deleted and was not`,
        !wasThere && possible.every(({ bag }) => bag !== null) && `${id} was there and was not deleted`,
      )
      // The answer does not tell its version; at least the best candidate must last.
      const lasting = tombstones.filter(({ version }) => !states.isLost(id, version))
      const [tombstone] = lasting.length > 0 ? lasting : tombstones
      if (wasThere && tombstone !== undefined && tombstone.version > 0)
        acknowledgements.add(id, tombstone.version, operation)
    },

    failed({ number }) {
      counts.failed++
      definitelyFailed.add(number)
      check(
        'a failed write never takes place',
        states.wasCommittedBy(number) && `operation ${number} was reported as failed and took place`,
      )
    },

    refused(operation, { index = '', holder = '' }) {
      const wanted = new Set(operation.wanted && keysIn(index, operation.wanted))
      const had = during(operation, holder).some(
        ({ bag }) => bag !== null && keysIn(index, bag).some((key) => wanted.has(key)),
      )
      check(
        'a refusal names an entity that has the key',
        !had &&
          `operation ${operation.number} was refused a key of ${index} that ${holder} never had during the call`,
      )
    },
  }
}
