import type { Equivalents } from '../equivalent.ts'

const noTime = 'To wait for no time changes nothing.'

export const cleaner: Equivalents = {
  'cleaner/check-index': {
    'checkIndex: entry === undefined → false': 'Where there is none, the look for it has said so.',
    "checkIndex: new LooseleafError('INDEX_NOT_FOUND', `The store has no index ${name}.`) → new LooseleafError('', `The store has no index ${name}.`)":
      'Where there is none, the look for it has said so.',
    "checkRows: direction: 'dangling' → direction: ''":
      'There are two directions, and this is not the other.',
    'createSuspects.areMany: candidates.size >= CANDIDATES_AT_ONCE → candidates.size > CANDIDATES_AT_ONCE':
      'Of so many in hand one more or less is the same.',
  },
  'cleaner/clean-index': {
    'untilOutOfReach: isFilled && context.deleteDelayMs > 0 → (isFilled)': noTime,
    'untilOutOfReach: context.deleteDelayMs > 0 → context.deleteDelayMs >= 0': noTime,
  },
}
