import type { JSX } from 'preact'
import type { Person } from '../kinds/person.ts'
import type { Source } from '../kinds/source.ts'
import { Avatar, hueOf } from './avatar.tsx'

export interface SourceTilesProps {
  readonly sources: readonly Source[]
  /** Owners by id. If undefined, tiles do not show owners. */
  readonly owners?: ReadonlyMap<string, Person>
}

export function SourceTiles({ sources, owners }: SourceTilesProps): JSX.Element {
  return (
    <ul class="tiles">
      {sources.map((source) => {
        const owner = source.person_id === undefined ? undefined : owners?.get(source.person_id)
        return (
          <li key={source.id} class="tile">
            <Avatar label={source.title} hue={hueOf(source.title)} shape="source" />
            <div>
              <a class="name" href={`/sources/${source.id}`}>
                <bdi>{source.title}</bdi>
              </a>
              <p>
                <bdi>{sentence(source.about)}</bdi>
                {owner === undefined ? null : (
                  <span class="faint">
                    {' '}
                    Brought in by <bdi>{owner.full_name}</bdi>.
                  </span>
                )}
              </p>
            </div>
          </li>
        )
      })}
    </ul>
  )
}

/** Adds a missing full stop, because another sentence may follow. */
function sentence(text: string): string {
  return text === '' || /[\p{Terminal_Punctuation}…]["'”’»)]*$/u.test(text) ? text : `${text}.`
}
