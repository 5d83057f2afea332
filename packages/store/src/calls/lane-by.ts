import type { Lane } from '@looseleaf/core/internal'

/** Wraps a lane with other ways to answer, and keeps its statistics. */
export function laneBy<Item, Result>(
  lane: Lane<Item, Result>,
  { submit, submitAll }: Pick<Lane<Item, Result>, 'submit' | 'submitAll'>,
): Lane<Item, Result> {
  return {
    get statements() {
      return lane.statements
    },
    get items() {
      return lane.items
    },
    get waiting() {
      return lane.waiting
    },
    submit,
    submitAll,
  }
}
