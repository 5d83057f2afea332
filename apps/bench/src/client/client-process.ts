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

/** Handle of a client process in the process that gives the orders. */
export interface Client {
  do(order: OpenOrder | PrepareOrder | SettleOrder | StopOrder): Promise<void>
  run(order: RunOrder | FillOrder): Promise<RunReport>
  close(): Promise<void>
}

interface Pending {
  /** The order as text, for errors. */
  readonly order: string
  resolve(report: RunReport | undefined): void
  reject(error: Error): void
}

/**
 * Set for all sides. Without it, V8 may start to allocate a batch's objects as long-lived ones, at an unpredictable moment of a run.
 * From then on the same calls take up to 1.8 times the CPU; see decision 47.
 */
const STEADY = '--no-allocation-site-pretenuring'
/** Profiling and tracing options of Node that go on to the clients, because these do the measured work. */
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
  const exited = once(child, 'exit')
  const pending = new Map<number, Pending>()
  let lastNumber = 0
  child.on('message', (message: { readonly number: number } & Answer) => {
    const call = pending.get(message.number)
    pending.delete(message.number)
    if ('error' in message) call?.reject(new Error(`${call.order}: ${message.error}`))
    else call?.resolve(message.report)
  })
  child.on('exit', (code, signal) => {
    for (const { reject } of pending.values()) reject(new Error(`A client has ended (${signal ?? code}).`))
    pending.clear()
  })

  function send(order: Order): Promise<RunReport | undefined> {
    return new Promise((resolve, reject) => {
      const number = ++lastNumber
      pending.set(number, { order: JSON.stringify(order).slice(0, 200), resolve, reject })
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
      await exited
    },
  }
}
