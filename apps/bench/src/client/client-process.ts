import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type {
  Answer,
  FillOrder,
  OpenOrder,
  Order,
  PrepareOrder,
  RunOrder,
  RunReport,
  SettleOrder,
  StopOrder,
} from './orders.ts'

/** A client process, as the one that gives the orders has it. */
export interface Client {
  do(order: OpenOrder | PrepareOrder | SettleOrder | StopOrder): Promise<void>
  run(order: RunOrder | FillOrder): Promise<RunReport>
  close(): Promise<void>
}

interface Waiting {
  readonly what: string
  resolve(report: RunReport | undefined): void
  reject(error: Error): void
}

/**
 * For all sides alike. Otherwise V8 decides at some moment of most runs, and of no two the same, that objects of which a batch was alive when it
 * looked are old from then on, and the same calls take up to 1.8 times the CPU; see decision 47.
 */
const STEADY = '--no-allocation-site-pretenuring'
/** Options of Node that make its work visible; a profile is of the clients. */
const PASSED_ON = /^--(?:cpu-prof|heap-prof|inspect|trace)/

export function startClient(): Client {
  const child = fork(fileURLToPath(new URL('client.ts', import.meta.url)), {
    execArgv: [
      '--conditions=@looseleaf/source',
      '--disable-warning=ExperimentalWarning',
      STEADY,
      ...process.execArgv.filter((argument) => PASSED_ON.test(argument)),
    ],
    serialization: 'advanced',
  })
  const gone = once(child, 'exit')
  const waiting = new Map<number, Waiting>()
  let numbered = 0
  child.on('message', (message: { readonly number: number } & Answer) => {
    const call = waiting.get(message.number)
    waiting.delete(message.number)
    if ('error' in message) call?.reject(new Error(`${call.what}: ${message.error}`))
    else call?.resolve(message.report)
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of waiting.values()) reject(new Error(`A client has ended (${signal ?? code}).`))
    waiting.clear()
  })

  function send(order: Order): Promise<RunReport | undefined> {
    return new Promise((resolve, reject) => {
      const number = ++numbered
      waiting.set(number, { what: JSON.stringify(order).slice(0, 200), resolve, reject })
      child.send({ number, order })
    })
  }

  return {
    async do(order) {
      await send(order)
    },
    run: async (order) => (await send(order)) as RunReport,
    async close() {
      if (child.connected) child.disconnect()
      await gone
    },
  }
}
