import type { Equivalents } from '../equivalent.ts'

const alike = 'The known part of a value has its type and its length.'
const sameThing = 'No other value is the same thing as an object.'
const shortcut = 'A shortcut: without it the same is computed.'
const noCheck = 'To await no check changes nothing.'
const stable = 'A stable output is the same for a second time.'
const stays = 'Every part equals the stored one.'
const asStored = 'An item that is as it is stored matches again.'
const batchSize = 'The size of a batch makes no difference to the outcome.'

/** Reasons of kinds. */
export const kinds: Equivalents = {
  'kinds/entities': {
    'createEntities.insertBag: checking !== undefined → true': noCheck,
    'createEntities.change: checking !== undefined → true': noCheck,
    'createEntities.change.attempt: ifVersion !== undefined && { ifVersion } → ({ ifVersion })':
      'An undefined version is none.',
  },
  'kinds/expiry': {
    'createExpiry: expires === undefined → false': shortcut,
  },
  'kinds/expiry-index': {
    'addedInclude: include.find((path) => !ofProgram.includes(path)) → include.findLast((path) => !ofProgram.includes(path))':
      'At most one was added.',
  },
  'kinds/identity': {
    'placesOf: taken.size === stored.length || taken.size === now.length → (taken.size === stored.length)':
      shortcut,
    'pairs: alike.length === 1 && free.length === 1 → false': shortcut,
  },
  'kinds/keep-unknown': {
    'withCarried: place === undefined → false': 'An element without a stored one carries nothing.',
    'withCarried: isPlainObject(stored) && isPlainObject(known) && isPlainObject(value) → (isPlainObject(stored) && isPlainObject(known))':
      sameThing,
    'withCarried: isPlainObject(stored) && isPlainObject(known) && isPlainObject(value) → (isPlainObject(value))':
      sameThing,
    'withCarried: isPlainObject(stored) && isPlainObject(known) → (isPlainObject(stored))': alike,
    'withCarried: isPlainObject(stored) && isPlainObject(known) → (isPlainObject(known))': alike,
    'withCarried: Array.isArray(stored) && Array.isArray(known) → (Array.isArray(stored))': alike,
    'withCarried: Array.isArray(stored) && Array.isArray(known) → (Array.isArray(known))': alike,
    'sharedPart: isPlainObject(stored) && isPlainObject(known) → (isPlainObject(stored))': alike,
    'sharedPart: isPlainObject(stored) && isPlainObject(known) → (isPlainObject(known))': alike,
    'sharedPart: Array.isArray(stored) && Array.isArray(known) → (Array.isArray(stored))': alike,
    'sharedPart: Array.isArray(stored) && Array.isArray(known) → (Array.isArray(known))': alike,
    'unknownOf: isPlainObject(stored) && isPlainObject(known) → (isPlainObject(stored))': alike,
    'unknownOf: isPlainObject(stored) && isPlainObject(known) → (isPlainObject(known))': alike,
    'unknownOf: Array.isArray(stored) && Array.isArray(known) → (Array.isArray(stored))': alike,
    'unknownOf: Array.isArray(stored) && Array.isArray(known) → (Array.isArray(known))': alike,
    'unknownOf: Array.isArray(stored) && Array.isArray(known) && stored.length === known.length → (Array.isArray(stored) && Array.isArray(known))':
      alike,
    'carryInto: !isPlainObject(stored) || !isPlainObject(known) → (!isPlainObject(stored))': alike,
    'carryInto: !isPlainObject(stored) || !isPlainObject(known) → (!isPlainObject(known))': alike,
    'withUnknown: agreed → false': shortcut,
    'withUnknown: place === undefined → false': 'An element without a stored one carries nothing.',
  },
  'kinds/known-names': {
    'createKnownNames.note: return → (nothing)': 'A list is no object with names.',
  },
  'kinds/matching-items': {
    'createItemReader.itemsOf: derivedItems > derivedBefore → true': asStored,
    'createItemReader.itemsOf: derivedItems > derivedBefore → derivedItems >= derivedBefore': asStored,
  },
  'kinds/shape': {
    'createShape.outputsFor: isStable → false': stable,
    'createShape.outputsFor: once === value || sameValue(once, value) → (once === value)': stable,
    'createShape.outputsFor: once === value || sameValue(once, value) → (sameValue(once, value))': shortcut,
    'createShape.upgraded: mayBeOutput: true → mayBeOutput: false': stays,
    'createShape.checkedRead: mayBeOutput: false → mayBeOutput: true': stays,
    'createShape.shownTo: output === undefined || output === properties → false': shortcut,
    'createShape.shownTo: output === undefined || output === properties → (output === undefined)': shortcut,
    'createShape.shownTo: output === undefined || output === properties → (output === properties)': shortcut,
    'createShape.shownTo: !checkReads && knownNames.isComplete(properties) → false': shortcut,
    'createShape.shownTo: added.size > 0 → true': 'A warning of no names tells nothing.',
  },
  'kinds/unique-check': {
    'createUniqueCheck.problem: unique.length === 0 || indexes === checked → (unique.length === 0)': shortcut,
  },
  'kinds/upgrade-kinds': {
    'upgrade: batch.length >= BATCH → true': batchSize,
    'upgrade: batch.length >= BATCH → false': batchSize,
    'upgrade: batch.length >= BATCH → batch.length > BATCH': batchSize,
    "upgrade.onDamaged: error.entity ?? '' → (error.entity)": 'A damaged body is that of an entity.',
  },
}
