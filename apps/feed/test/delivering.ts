import { sqliteShards } from 'looseleaf'
import { startDeliveries } from '../src/delivery/start-deliveries.ts'
import { openSite } from '../src/domain/site/site.ts'

/*
 * Delivers entries as a process of its own, in the folder `DATA`, and kills itself without warning at the end of its nth insert
 * (`DIES_AFTER`): a delivery inserts an item for each follower, and then its marker.
 */
const diesAfter = Number(process.env['DIES_AFTER'])
let inserts = 0
const site = await openSite({
  shards: sqliteShards({ folder: process.env['DATA'] as string, shards: 2 }),
  cleaner: false,
  observer: {
    callEnded({ name }) {
      if (name === 'insert' && ++inserts === diesAfter) process.kill(process.pid, 'SIGKILL')
    },
  },
})
startDeliveries(site, { leaseMs: 500, onError: (error) => console.error(error) })
