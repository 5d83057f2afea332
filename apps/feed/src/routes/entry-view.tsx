import type { JSX } from 'preact'
import { cardsOf, withPeople } from '../model/cards.ts'
import type { Entry } from '../model/entities.ts'
import { alsoShared } from '../model/entries.ts'
import { peopleById } from '../model/people.ts'
import { commentsOn } from '../model/responses.ts'
import { sourcesById } from '../model/sources.ts'
import { EntryPage, type SharedBy } from '../views/entry-page.tsx'
import type { FormState } from '../views/form-parts.tsx'
import type { OpenPage } from '../web/pages.ts'
import type { Reader } from '../model/reader.ts'

/** The page of one entry, with its comment form as it was sent. */
export async function entryView(
  { ctx, reader }: OpenPage,
  entry: Entry,
  form: FormState,
  after?: string,
): Promise<JSX.Element> {
  const [[card], comments, shares] = await Promise.all([
    cardsOf(reader, [entry], ctx.viewer?.id),
    commentsOn(reader, entry.id, after),
    sharesOf(reader, entry),
  ])
  if (card === undefined) throw new TypeError('An entry has a card.')
  const people = await peopleById(
    reader,
    comments.items.map((comment) => comment.user_id),
  )
  const { items } = withPeople({ items: comments.items, total: card.comments.total }, people)
  return (
    <EntryPage
      ctx={ctx}
      card={card}
      comments={items}
      paging={{ cursor: comments.cursor, previous: comments.previous, paged: after !== undefined }}
      shares={shares}
      form={form}
    />
  )
}

async function sharesOf(reader: Reader, entry: Entry): Promise<SharedBy[]> {
  const others = await alsoShared(reader, entry)
  const [people, sources] = await Promise.all([
    peopleById(reader, defined(others.map((other) => other.user_id))),
    sourcesById(reader, defined(others.map((other) => other.source_id))),
  ])
  return others.map((other) => ({
    entry: other,
    person: other.user_id === undefined ? undefined : people.get(other.user_id),
    source: other.source_id === undefined ? undefined : sources.get(other.source_id),
  }))
}

function defined<Item>(items: readonly (Item | undefined)[]): Item[] {
  return items.filter((item) => item !== undefined)
}
