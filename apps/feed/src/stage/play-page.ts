import type { ActContext, ActPage, PlannedAct } from '@looseleaf/console'
import { actOrState, counted, markup } from '@looseleaf/console/kit'
import { playHere, type PlayedDay } from '../day/here/play-here.ts'
import type { Site } from '../domain/site/site.ts'
import { compareDeliveries } from './faults/hold-deliveries.ts'
import type { ShardFaults } from './faults/shard-faults.ts'

/** Length of a played day. */
export const PLAYED_SECONDS = 120
const PEOPLE = 40
const SOURCES = 60
/** Milliseconds between two texts about the progress. */
const LOOK_MS = 1_000
/** Subject of the act. */
const DAY = 'a day'

export interface PlayPageOptions {
  readonly site: Site
  readonly faults: ShardFaults
  /** Returns the address at which the site listens. */
  readonly address: () => string
  /** Signs cookies. */
  readonly secret: string
  /** Default: two minutes. */
  readonly seconds?: number
  readonly people?: number
  readonly sources?: number
  /** Called with the end of a day in milliseconds since 1970, and with undefined once it is over. */
  readonly setEnd?: (end: number | undefined) => void
}

/** Creates the page that plays a day on the site. */
export function playPage(options: PlayPageOptions): ActPage {
  const { site, faults, address, secret, setEnd = () => {} } = options
  const { seconds = PLAYED_SECONDS, people = PEOPLE, sources = SOURCES } = options

  async function run({ signal, showProgress, setOutcome }: ActContext): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    const onBegin = (): void => {
      const end = Date.now() + seconds * 1_000
      setEnd(end)
      timer = setInterval(() => showProgress(leftText(end)), LOOK_MS).unref()
      showProgress(leftText(end))
    }
    const onEnd = async (played: PlayedDay): Promise<void> =>
      setOutcome(outcomeOf(played, await compareDeliveries(site.data, played.began)))
    showProgress('people and sources get ready')
    const isBroken = (): boolean => faults.refusals.size > 0
    const url = address()
    try {
      await playHere({ site, url, secret, seconds, people, sources, isBroken, signal, onBegin, onEnd })
    } finally {
      clearInterval(timer)
      setEnd(undefined)
    }
  }

  return {
    name: 'day',
    label: 'Play a day',
    title: 'Play a day',
    lead: markup`${people} people post, comment and like by forms of this site, and ${sources} sources on this machine publish, for ${seconds} seconds. It goes on when you leave this page. Look at <a href="/everything">everything on this site</a> meanwhile, or sign in as one of the people and watch your home page. The entries stay.`,
    suggestion: (location) =>
      markup`<a href="${location}">Play a day</a>: people post, comment and like, sources publish, and each entry reaches every follower once.`,
    acts: ['play'],
    async part({ isAllowed, running }) {
      if (site.crawler === undefined)
        return {
          body: markup`<p>Another process fetches the sources, and may not fetch those of a played day.</p>`,
        }
      return {
        body: isAllowed
          ? markup`<p class="acts">${actOrState(running, 'play', DAY, 'Play a day', 'A day is playing')}</p>`
          : markup``,
      }
    },
    plan(name, about): PlannedAct | undefined {
      if (about !== DAY || site.crawler === undefined) return undefined
      return { name, about, endLabel: 'End the day', run }
    },
  }
}

function leftText(end: number): string {
  return `${counted(Math.max(0, Math.ceil((end - Date.now()) / 1_000)), 'second')} left`
}

/** Sums a played day up, and says if anything was lost. */
export function outcomeOf(
  { made, behind, counts }: PlayedDay,
  { expected, lost, twice }: Awaited<ReturnType<typeof compareDeliveries>>,
): string {
  const { failed, refusedForms, refusedSenders } = counts
  const refused = refusedForms + refusedSenders
  const refusals = refused === 0 ? '' : `, ${counted(refused, 'form')} refused while a shard was stopped`
  const late = behind === 0 ? '' : `, ${counted(behind, 'entry', 'entries')} not delivered yet`
  const saved = (things: readonly { readonly isAcknowledged: boolean }[]): number =>
    things.filter(({ isAcknowledged }) => isAcknowledged).length
  return `${counted(saved(made.entries), 'entry', 'entries')}, ${counted(saved(made.comments), 'comment')} and ${counted(saved(made.likes), 'like')}. Expected ${counted(expected, 'inbox item')}: ${lost} lost, ${twice} twice; ${counted(failed, 'request')} failed${refusals}${late}.`
}
