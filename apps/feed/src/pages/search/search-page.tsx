import type { ComponentChildren, JSX } from 'preact'
import type { Card } from '../../domain/entries/cards.ts'
import type { Source } from '../../kinds/source.ts'
import { EmptyState } from '../../ui/empty-state.tsx'
import { EntryList } from '../../ui/entries/entry-card.tsx'
import { Layout } from '../../ui/frame/layout.tsx'
import { OlderLink, type Paging } from '../../ui/older-link.tsx'
import type { PageContext } from '../../ui/page-context.ts'
import { isolated } from '../../text/isolated.ts'

/** The answer to a search. */
export type SearchAnswer =
  | {
      readonly type: 'cards'
      readonly cards: readonly Card[]
      readonly terms: ReadonlySet<string>
      readonly paging: Paging
      readonly gaveUp: boolean
    }
  /** Sources to choose from, each with its address. */
  | {
      readonly type: 'sources'
      readonly sources: readonly { readonly source: Source; readonly href: string }[]
    }
  /** A reason why there is no answer, in a sentence. */
  | { readonly type: 'refused'; readonly reason: string }
  /** No search yet. */
  | { readonly type: 'help' }

export interface SearchPageProps {
  readonly ctx: PageContext
  readonly text: string
  readonly answer: SearchAnswer
}

export function SearchPage({ ctx, text, answer }: SearchPageProps): JSX.Element {
  return (
    <Layout
      ctx={ctx}
      title={text === '' ? 'Search' : `Search for ${isolated(text.slice(0, 60))}`}
      search={text}
    >
      <h1 class="page-title">
        {text === '' ? (
          'Search'
        ) : (
          <>
            Search for “<bdi>{text.slice(0, 100)}</bdi>”
          </>
        )}
      </h1>
      <Answer ctx={ctx} text={text} answer={answer} />
    </Layout>
  )
}

function Answer({ ctx, text, answer }: SearchPageProps): JSX.Element {
  if (answer.type === 'help') return <SearchHelp />
  if (answer.type === 'refused') {
    return (
      <>
        <p class="alert" role="alert">
          {answer.reason}
        </p>
        <SearchHelp />
      </>
    )
  }
  if (answer.type === 'sources') return <Choice sources={answer.sources} />
  const { cards, terms, paging, gaveUp } = answer
  const path = `/search?q=${encodeURIComponent(text)}`
  if (cards.length === 0 && !paging.paged && !gaveUp) {
    return (
      <>
        <EmptyState ctx={ctx} title="Nothing found">
          <p>
            {/\s/.test(text.trim())
              ? 'No entry has all of this. Fewer words find more.'
              : 'No entry has this.'}
          </p>
        </EmptyState>
        <SearchHelp />
      </>
    )
  }
  return (
    <>
      <EntryList ctx={ctx} cards={cards} terms={terms} />
      {gaveUp ? (
        <p class="faint">
          This page has looked through many entries. Go on to older ones, or narrow the search by another word
          or a day.
        </p>
      ) : null}
      <OlderLink path={path} paging={paging} />
    </>
  )
}

function Choice({
  sources,
}: {
  readonly sources: readonly { readonly source: Source; readonly href: string }[]
}): JSX.Element {
  return (
    <section class="results" aria-labelledby="choice">
      <h2 id="choice">Several sources have this in their titles</h2>
      <ul>
        {sources.map(({ source, href }) => (
          <li key={source.id}>
            <a href={href}>
              <bdi>{source.title}</bdi>
            </a>{' '}
            <span class="faint">
              <bdi>{source.about}</bdi>
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

const EXAMPLES: readonly { readonly text: string; readonly finds: string }[] = [
  { text: 'cold dough', finds: 'entries with both words, in any order' },
  { text: '"cold dough"', finds: 'entries with this phrase' },
  { text: 'tag:bread', finds: 'entries with this tag' },
  {
    text: 'from:mira',
    finds: 'messages of a person and entries of their services, by the name in the address',
  },
  { text: 'source:"The Early Loaf"', finds: 'entries of a source, by words of its title' },
  {
    text: 'from:mira has:link',
    finds: 'entries of a person with a link; has: also takes image, audio, video, and text for messages',
  },
  {
    text: 'bread since:2026-02-01',
    finds: 'entries with this word since this day, in UTC; before: finds earlier ones',
  },
]

function SearchHelp(): JSX.Element {
  return (
    <section class="search-help" aria-labelledby="help">
      <h2 id="help">How to search</h2>
      <dl>
        {EXAMPLES.map(({ text, finds }): ComponentChildren => (
          <div key={text}>
            <dt>
              <a href={`/search?q=${encodeURIComponent(text)}`}>
                <code>{text}</code>
              </a>
            </dt>
            <dd>{finds}</dd>
          </div>
        ))}
      </dl>
      <p class="faint">
        Case and accents make no difference. Parts can be combined: an entry has to match all of them. The
        parts <code>has:</code>, <code>since:</code> and <code>before:</code> only narrow a search, so they
        need a word, a tag, a person or a source beside them.
      </p>
    </section>
  )
}
