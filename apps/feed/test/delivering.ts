import { sqliteShards } from 'looseleaf'
import { startDeliveries } from '../src/delivery/start-deliveries.ts'
import { openSite } from '../src/domain/site/site.ts'

/*
 * Delivers entries as a process of its own, in the folder `DATA`, and kills itself without warning when it reads the time for the nth time
 * (`DIES_AT`): a delivery reads it once for its recipients, once before each batch of items, and once before it notes that it is done.
 */
const diesAt = Number(process.env['DIES_AT'])
const site = await openSite({
  shards: sqliteShards({ folder: process.env['DATA'] as string, shards: 2 }),
  cleaner: false,
})
let reads = 0
startDeliveries(site, {
  leaseMs: 500,
  now() {
    if (++reads === diesAt) process.kill(process.pid, 'SIGKILL')
    return new Date()
  },
  onError: (error) => console.error(error),
})
