import unittest

from shop.delivery import delivery_cost


class DeliveryCost(unittest.TestCase):
    def test_a_small_order_pays_for_delivery(self) -> None:
        self.assertEqual(delivery_cost(500), 300)

    def test_an_order_of_2500_is_delivered_free(self) -> None:
        self.assertEqual(delivery_cost(2500), 0)

    def test_a_large_order_is_delivered_free(self) -> None:
        self.assertEqual(delivery_cost(9000), 0)


if __name__ == "__main__":
    unittest.main()
