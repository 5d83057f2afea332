import type { Crew } from '../crew/crew.ts'
import type { MadeEntry } from '../traffic/play.ts'

/** People who have to get an entry, by brute force over the follows. */
export interface Recipients {
  /** People whose inbox gets it. */
  readonly pushed: ReadonlySet<string>
  /** People who follow a channel of it that is read at each visit. Some of them may get it in their inbox too. */
  readonly pulling: ReadonlySet<string>
}

export function expectedRecipients({ person, source }: MadeEntry, crew: Crew): Recipients {
  const channels =
    source === undefined ? [person as string] : [source, ...(crew.publishers.get(source) ?? [])]
  const followersOf = (isPulled: boolean): string[] =>
    channels
      .filter((channel) => crew.pulled.has(channel) === isPulled)
      .flatMap((channel) => [...(crew.followers.get(channel) ?? [])])
  return {
    pushed: new Set([...followersOf(false), ...(person === undefined ? [] : [person])]),
    pulling: new Set(followersOf(true)),
  }
}
