import type { EntityId } from '@looseleaf/core'
import { counted, grouped } from '@looseleaf/core/internal'
import { countNear, type AnyKind, type KindPlaces, type NearCounts } from '@looseleaf/kinds'
import { kindsNamed } from './kinds-named.ts'
import { saveNearCounts } from '../near/near-record.ts'
import { countReferences, MAX_IDS, type References } from '../near/near-references.ts'
import { nearShare } from '../near/near-text.ts'
import type { Output } from '../output/output.ts'
import { defineCommand, type LooseleafCommand } from '../running/define-command.ts'
import type { Invocation } from '../running/invocation.ts'

const CHECK_DETAILS = `Reads the whole store and changes no entity. Counts for each kind of the config
how many entities are where its option near says, and for each index of the kind
how many rows are on the shard of their entity, and in its bucket. Rows on one shard
with their entity are read together with it; those in its bucket are written together
with it, too, and stay so when buckets move.

An entity is elsewhere if it was written under an id of another place, or if its
property has changed since. That is allowed: every call finds it, by far rows. It
is without a place if it lacks the property. Entities that cannot be decoded are
left out. During a move of buckets an entity may be counted twice.

looseleaf status shows the last counts and their time.

JSON:
  { "scanned": number of entities read,
    "kinds": { kind: { "near": path | null, "entities", "atPlace", "elsewhere",
      "withoutPlace", "indexes": { index: { "rows", "local", "near" } } } } }`

const MOVE_DETAILS = `Reads the whole store twice and changes nothing. An entity keeps its id, and the id
has its place. So an entity that is elsewhere gets to the place of its property
only under a new id, as another entity. The command counts such entities and the
properties of entities that hold their ids, and prints the steps. It does not take
them, because ids are also in links, caches and other systems.

It looks for the ids of up to ${grouped(MAX_IDS)} entities.

JSON:
  { "scanned": number of entities read,
    "kinds": { kind: { "near": path, "entities", "elsewhere", "withoutPlace" } },
    "searched": number of ids,
    "references": { "kind.path": number of entities with one of the ids } }`

const STEPS = `Steps for each entity that is to be near, in a program of yours:
  1. Read it, and make an id: collection.newId(item).
  2. Insert a copy under the new id. If a unique index has a key of it, give the key up
     in the old entity first.
  3. Write the new id into every property above, and wherever else the old id is used.
  4. Delete the old entity, at the version that was copied. If it has changed since, copy
     it again.
If the property was changed by mistake, writing its former value back is enough.`

export function addNearCommands(group: LooseleafCommand): void {
  defineCommand(group, {
    usage: 'check [names...]',
    summary: 'Count the entities that are where the option near of their kind says',
    details: CHECK_DETAILS,
    examples: [
      ['kind check', 'all kinds of the config'],
      ['kind check person', 'one kind'],
    ],
  }).does(async (invocation, names: readonly string[]) => {
    const { output, signal, openStore, settings } = invocation
    const kinds = kindsNamed(await settings(), names)
    const counts = await countWithProgress(invocation, kinds)
    if (!(await saveNearCounts(await openStore(), counts, { signal })))
      output.warn('Another process is saving its counts, so status does not show these.')
    output.result(jsonOf(counts), () => checkText(output, counts))
  })
  defineCommand(group, {
    usage: 'move-near [names...]',
    summary: 'Tell what it takes to bring entities to the place that near gives them',
    details: MOVE_DETAILS,
    examples: [['kind move-near person', 'count entities elsewhere and the references to them']],
  }).does(async (invocation, names: readonly string[]) => {
    const { output } = invocation
    const all = (await invocation.settings()).kinds
    const [kinds, unplaced] = byNear(kindsNamed(await invocation.settings(), names))
    const ids = new Set<EntityId>()
    const counts = await countWithProgress(invocation, kinds, (id) => ids.size < MAX_IDS && ids.add(id))
    const references = ids.size === 0 ? {} : await referencesTo(invocation, all, ids)
    const result = {
      scanned: counts.scanned,
      kinds: Object.fromEntries(
        Object.entries(counts.kinds).map(([kind, { near, entities, elsewhere, withoutPlace }]) => [
          kind,
          { near, entities, elsewhere, withoutPlace },
        ]),
      ),
      searched: ids.size,
      references,
    }
    const notes = names.length === 0 ? [] : unplacedNotes(unplaced, byNear(all)[0])
    output.result(result, () => moveText(counts, ids.size, references, notes))
  })
}

async function countWithProgress(
  { output, signal, openStore }: Invocation,
  kinds: readonly AnyKind[],
  onElsewhere?: (id: EntityId) => void,
): Promise<NearCounts> {
  const store = await openStore()
  const progress = output.progress({ label: 'count', unit: 'entities' })
  const onProgress = (scanned: number): void => progress.update(scanned, undefined)
  return countNear(store, kinds, { signal, onProgress, onElsewhere }).finally(() => progress.stop())
}

async function referencesTo(
  { output, signal, openStore }: Invocation,
  kinds: readonly AnyKind[],
  ids: ReadonlySet<EntityId>,
): Promise<References> {
  const store = await openStore()
  const progress = output.progress({ label: 'references', unit: 'entities' })
  const onProgress = (scanned: number): void => progress.update(scanned, undefined)
  return countReferences(store, kinds, ids, { signal, onProgress }).finally(() => progress.stop())
}

function jsonOf({ scanned, kinds }: NearCounts): object {
  const entries = Object.entries(kinds).map(([kind, counts]) => [
    kind,
    { ...counts, near: counts.near ?? null },
  ])
  return { scanned, kinds: Object.fromEntries(entries) as object }
}

function checkText({ table }: Output, { scanned, kinds }: NearCounts): string {
  const entries = Object.entries(kinds)
  const rows = entries.flatMap(([, { indexes }]) =>
    Object.entries(indexes).map(([index, counts]) => [
      index,
      grouped(counts.rows),
      nearShare(counts.local, counts.rows),
      nearShare(counts.near, counts.rows),
    ]),
  )
  return [
    table(['KIND', 'NEAR', 'ENTITIES', 'AT PLACE', 'ELSEWHERE', 'WITHOUT PLACE'], entries.map(kindCells)),
    ...(rows.length === 0 ? [] : ['', table(['INDEX', 'ROWS', 'ON ITS SHARD', 'IN ITS BUCKET'], rows)]),
    `${counted(scanned, 'entity', 'entities')} of the store read.`,
  ].join('\n')
}

function kindCells([kind, counts]: readonly [string, KindPlaces]): readonly string[] {
  const { near, entities, atPlace, elsewhere, withoutPlace } = counts
  const rest = [nearShare(atPlace, entities), grouped(elsewhere), grouped(withoutPlace)]
  return [kind, near ?? '–', grouped(entities), ...(near === undefined ? ['', '', ''] : rest)]
}

function byNear(kinds: readonly AnyKind[]): readonly [readonly AnyKind[], readonly AnyKind[]] {
  return [kinds.filter(({ near }) => near !== undefined), kinds.filter(({ near }) => near === undefined)]
}

/** Returns a sentence for each kind that was named although it has no option near. */
function unplacedNotes(unplaced: readonly AnyKind[], placed: readonly AnyKind[]): readonly string[] {
  const others =
    placed.length === 0 ? '' : ` These kinds have it: ${placed.map(({ name }) => name).join(', ')}.`
  return unplaced.map(({ name }) => `The kind ${name} has no option near.${others}`)
}

function moveText(
  { scanned, kinds }: NearCounts,
  searched: number,
  references: References,
  notes: readonly string[],
): string {
  const entries = Object.entries(kinds)
  if (entries.length === 0) return notes.join('\n') || 'No kind of the config has the option near.'
  const elsewhere = entries.reduce((sum, [, counts]) => sum + counts.elsewhere, 0)
  const found = Object.entries(references)
  return [
    ...notes,
    ...entries.map(
      ([kind, { near, entities, elsewhere: far, withoutPlace }]) =>
        `${kind}: ${grouped(far)} of ${counted(entities, 'entity is', 'entities are')} not near ${near}, and ${grouped(withoutPlace)} without it.`,
    ),
    ...(elsewhere > searched
      ? [`References are those to ${counted(searched, 'entity', 'entities')} of these.`]
      : []),
    ...found.map(
      ([path, count]) => `${counted(count, 'entity has', 'entities have')} an id of them in ${path}.`,
    ),
    ...(elsewhere > 0 && found.length === 0 ? ['No property of an entity has one of their ids.'] : []),
    ...(elsewhere > 0 ? ['', STEPS] : []),
    '',
    `${counted(scanned, 'entity', 'entities')} of the store read. Nothing was written.`,
  ].join('\n')
}
