import { setTimeout as sleep } from 'node:timers/promises'
import type { ActPage } from '../src/acts/act-page.ts'
import { actOrState } from '../src/acts/act-button.ts'
import { markup } from '../src/kit/html.ts'

/** Returns a page of an application, with an act that stops its subject until a user or the console ends it. */
export function stoppable(subject: string): ActPage {
  return {
    name: 'stops',
    label: 'Stops',
    title: 'Stops of <all>',
    lead: markup`One subject.`,
    suggestion: (address) => markup`<a href="${address}">Stop it</a>.`,
    acts: ['stop'],
    part: async ({ running }) => ({ body: actOrState(running, 'stop', subject, 'Stop it', 'It is stopped') }),
    plan: (name, about) =>
      about !== subject
        ? undefined
        : {
            name,
            about,
            question: 'It stops.',
            endLabel: 'Bring it back',
            async run({ signal, showProgress, setOutcome }) {
              showProgress('it waits')
              await sleep(60_000, undefined, { signal, ref: false }).catch(() => {})
              setOutcome('Ended.')
            },
          },
  }
}
