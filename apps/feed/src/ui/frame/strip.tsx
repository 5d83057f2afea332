import type { JSX } from 'preact'
import type { Pulse } from '../../domain/site/pulse.ts'

/** Returns the texts of the strip that change, in their order. The script puts them into the elements `b`. */
export function stripTexts(pulse: Pulse): readonly string[] {
  const { at, posts, statements, p99Ms, expected, delivered, twice, playing } = pulse
  const isWhole = expected === delivered && twice === 0
  return [
    posts.toFixed(1),
    whole(statements),
    p99Ms === undefined ? '–' : `${p99Ms < 100 ? p99Ms.toFixed(1) : whole(p99Ms)} ms`,
    at.toTimeString().slice(0, 8),
    whole(expected),
    isWhole ? '=' : '≠',
    `${whole(delivered)}${twice === 0 ? '' : ` (${whole(twice)} twice)`}`,
    playing === undefined ? 'Play a day' : playing === 0 ? 'The day ends' : `${playing} s left`,
  ]
}

function whole(number: number): string {
  return Math.round(number).toLocaleString('en-US')
}

/** The numbers of the site at the moment of the page, with the time of that moment. The script keeps them up to date. */
export function Strip({ pulse, window }: { readonly pulse: Pulse; readonly window: string }): JSX.Element {
  const [posts, statements, p99, time, expected, sign, delivered, play] = stripTexts(pulse)
  return (
    <aside class="strip" aria-label="The site now">
      <span title="New entries per second">
        <b>{posts}</b> posts/s
      </span>{' '}
      <span title="Statements to all databases per second">
        <b>{statements}</b> statements/s
      </span>{' '}
      <span title="One call to the store in a hundred took longer than this">
        p99 <b>{p99}</b>
      </span>{' '}
      <span>
        at <b>{time}</b>
      </span>{' '}
      <span title="Home pages that should have got a new entry, and those that have got it">
        expected <b>{expected}</b> <b>{sign}</b> <b>{delivered}</b> delivered
      </span>{' '}
      <a href={`${window}/day`}>
        <b>{play}</b>
      </a>
    </aside>
  )
}
